/* Plays sge_shepherd for one job: in the spool directory that is its cwd it runs the prolog, the job and the epilog, and
 * writes the files that the real one writes.
 *
 *   shepherd OPTION... +++ PROLOG... +++ JOB... +++ EPILOG...
 *
 *   limit=NUMBER:SOFT:HARD   resource limit of both hooks; root gives up raising it again
 *   group=GID                additional group of the job
 *   uid=UID                  user of the hooks and the job
 *   closed=1                 the hooks start with descriptors 0 to 2 closed, as for a job with a pty
 *   maxrss=0                 `usage` says nothing of memory
 *
 * It reports each step by a line of JSON on stdout: {"step":"prolog","pid":,"status":,"ms":}. When its parent dies it
 * kills the job and ends. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_LIMITS = 16, CAP_SYS_RESOURCE = 24 };

static pid_t job;
static gid_t group;
static uid_t uid = (uid_t)-1;
static bool closed, tells_maxrss = true;
static struct {
  int resource;
  struct rlimit value;
} limits[MOST_LIMITS];
static int limit_count;

static _Noreturn void die(const char *what) {
  perror(what);
  exit(1);
}

static double now_ms(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void leave(int signal) {
  (void)signal;
  if (job > 0) kill(-job, SIGKILL);
  _exit(1);
}

static void become(char **words, bool without_descriptors) {
  const int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; fd++) {
    if (without_descriptors) close(fd);
    else dup2(null, fd);
  }
  if (null > 2) close(null);
  if (uid != (uid_t)-1 && (setgid(uid) != 0 || setuid(uid) != 0)) _exit(126);
  execv(words[0], words);
  _exit(127);
}

static int shell_status(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static struct rusage reap(pid_t pid, int *status) {
  struct rusage usage;
  while (wait4(pid, status, 0, &usage) < 0)
    if (errno != EINTR) die("wait4");
  return usage;
}

static void tell(const char *step, pid_t pid, int status, double start) {
  printf("{\"step\":\"%s\",\"pid\":%d,\"status\":%d,\"ms\":%.1f}\n", step, (int)pid, shell_status(status),
         now_ms(CLOCK_MONOTONIC) - start);
}

static void run_hook(const char *step, char **words) {
  const double start = now_ms(CLOCK_MONOTONIC);
  const pid_t pid = fork();
  if (pid < 0) die("fork");
  if (pid == 0) {
    setsid();
    if (limit_count > 0) prctl(PR_CAPBSET_DROP, CAP_SYS_RESOURCE, 0, 0, 0);
    for (int i = 0; i < limit_count; i++)
      if (setrlimit(limits[i].resource, &limits[i].value) != 0) _exit(125);
    become(words, closed);
  }
  int status;
  (void)reap(pid, &status);
  tell(step, pid, status, start);
}

static void write_file(const char *name, const char *format, long number) {
  FILE *file = fopen(name, "we");
  if (file == NULL) die(name);
  fprintf(file, format, number);
  fclose(file);
}

static void start_job(char **words) {
  int ready[2];
  if (pipe2(ready, O_CLOEXEC) != 0) die("pipe2");
  job = fork();
  if (job < 0) die("fork");
  if (job == 0) {
    char byte;
    close(ready[1]);
    setsid();
    if (group > 0 && setgroups(1, &group) != 0) _exit(126);
    /* Until the shepherd has written job_pid. */
    if (read(ready[0], &byte, 1) != 1) _exit(126);
    become(words, false);
  }
  write_file("addgrpid", "%ld\n", (long)group);
  write_file("job_pid", "%ld\n", (long)job);
  if (write(ready[1], "x", 1) != 1) die("pipe");
  close(ready[0]);
  close(ready[1]);
  printf("{\"step\":\"start\",\"pid\":%d,\"status\":0,\"ms\":0}\n", (int)job);
}

static void write_usage(int status, const struct rusage *usage, time_t started) {
  const time_t ended = time(NULL);
  FILE *file = fopen("usage", "we");
  if (file == NULL) die("usage");
  fprintf(file,
          "wait_status=%d\nexit_status=%d\nsignal=%d\nstart_time=%ld\nend_time=%ld\nru_wallclock=%ld\n"
          "ru_utime=%ld.%06ld\nru_stime=%ld.%06ld\nru_maxrss=%ld\nru_ixrss=0\nru_idrss=0\nru_isrss=0\n"
          "ru_minflt=%ld\nru_majflt=%ld\nru_nswap=0\nru_inblock=%ld\nru_oublock=%ld\nru_msgsnd=0\nru_msgrcv=0\n"
          "ru_nsignals=0\nru_nvcsw=%ld\nru_nivcsw=%ld\n",
          WIFSIGNALED(status) ? 2 : 1, shell_status(status), WIFSIGNALED(status) ? WTERMSIG(status) : 0, (long)started,
          (long)ended, (long)(ended - started), (long)usage->ru_utime.tv_sec, (long)usage->ru_utime.tv_usec,
          (long)usage->ru_stime.tv_sec, (long)usage->ru_stime.tv_usec, tells_maxrss ? usage->ru_maxrss : 0,
          usage->ru_minflt, usage->ru_majflt, usage->ru_inblock, usage->ru_oublock, usage->ru_nvcsw, usage->ru_nivcsw);
  fclose(file);
}

static void take_option(const char *text) {
  const char *value = strchr(text, '=');
  if (value == NULL) die(text);
  value++;
  if (strncmp(text, "limit=", 6) == 0 && limit_count < MOST_LIMITS) {
    unsigned long long soft, hard;
    if (sscanf(value, "%d:%llu:%llu", &limits[limit_count].resource, &soft, &hard) != 3) die(text);
    limits[limit_count++].value = (struct rlimit){.rlim_cur = soft, .rlim_max = hard};
  } else if (strncmp(text, "group=", 6) == 0) group = (gid_t)strtoul(value, NULL, 10);
  else if (strncmp(text, "uid=", 4) == 0) uid = (uid_t)strtoul(value, NULL, 10);
  else if (strncmp(text, "closed=", 7) == 0) closed = strtol(value, NULL, 10) != 0;
  else if (strncmp(text, "maxrss=", 7) == 0) tells_maxrss = strtol(value, NULL, 10) != 0;
  else die(text);
}

int main(int argc, char **argv) {
  (void)argc;
  prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
  signal(SIGTERM, leave);
  setvbuf(stdout, NULL, _IOLBF, 0);
  char **part[3] = {NULL, NULL, NULL};
  int parts = 0;
  for (char **word = argv + 1; *word != NULL; word++) {
    if (strcmp(*word, "+++") == 0 && parts < 3) {
      *word = NULL;
      part[parts++] = word + 1;
    } else if (parts == 0) take_option(*word);
  }
  if (parts < 3) die("usage: shepherd OPTION... +++ PROLOG... +++ JOB... +++ EPILOG...");

  write_file("pid", "%ld\n", (long)getpid());
  run_hook("prolog", part[0]);
  const double start = now_ms(CLOCK_MONOTONIC);
  const time_t started = time(NULL);
  start_job(part[1]);
  int status;
  const struct rusage usage = reap(job, &status);
  /* Ends the rest of the job's process group; processes that left the group stay. */
  kill(-job, SIGKILL);
  write_usage(status, &usage, started);
  tell("job", job, status, start);
  run_hook("epilog", part[2]);
  return 0;
}

/* Plays sge_shepherd: runs hooks and a job as its children, in the spool directory that is its cwd, and measures all that
 * comes of them. Commands are lines on stdin, words split by tabs; each is answered by one line of JSON:
 *
 *   limit BYTES        the address space limit, soft and hard, of every hook from now on; CAP_SYS_RESOURCE is dropped
 *                      with it, else root's hooks would lift it
 *   hook WORD...       runs a program to its end    {"at":, "ms":, "cpu":, "status":}
 *   job GID WORD...    starts the job with that additional group, 0: none    {"pid":}
 *   end                kills the job's process group and reaps it    {}
 *   drain              waits for everything that is left    {"ms":, "cpu":, "largest":}
 *
 * at: wall clock, ms since the epoch; ms: wall time; cpu: user + system ms, children that were waited for included;
 * largest: RSS in KiB of the largest process. At the end of stdin, on SIGTERM, or when its parent dies, it kills what it
 * has started: orphans come to it, since it is their subreaper. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_WORDS = 64 };

static pid_t job;
static unsigned long long limit;

static _Noreturn void die(const char *what) {
  perror(what);
  exit(1);
}

static double now_ms(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static double cpu_ms(const struct rusage *usage) {
  return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1e3 +
         (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e3;
}

/* Safe in a signal handler. */
static void kill_children(void) {
  static char path[64], text[65536];
  snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
  for (;;) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t length = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0) close(fd);
    text[length > 0 ? length : 0] = '\0';
    for (char *at = text, *end; *at; at = end) {
      const long pid = strtol(at, &end, 10);
      if (end == at) break;
      if (pid > 1) kill((pid_t)pid, SIGKILL);
      while (*end == ' ') end++;
    }
    if (wait4(-1, NULL, 0, NULL) < 0 && errno == ECHILD) return;
  }
}

static void leave(int signal) {
  (void)signal;
  kill_children();
  _exit(1);
}

/* As the shepherd starts a hook: stdin from /dev/null, a group of its own. */
static void become(char **words) {
  signal(SIGTERM, SIG_DFL);
  signal(SIGINT, SIG_DFL);
  const int null = open("/dev/null", O_RDWR);
  dup2(null, 0);
  dup2(null, 1);
  if (null > 2) close(null);
  execv(words[0], words);
  _exit(127);
}

static void hook(char **words) {
  const double at = now_ms(CLOCK_REALTIME), start = now_ms(CLOCK_MONOTONIC);
  const pid_t pid = fork();
  if (pid < 0) die("fork");
  if (pid == 0) {
    setpgid(0, 0);
    if (limit > 0) {
      const struct rlimit space = {.rlim_cur = limit, .rlim_max = limit};
      prctl(PR_CAPBSET_DROP, CAP_SYS_RESOURCE, 0, 0, 0);
      if (setrlimit(RLIMIT_AS, &space) != 0) _exit(126);
    }
    become(words);
  }
  struct rusage usage;
  int status;
  while (wait4(pid, &status, 0, &usage) < 0)
    if (errno != EINTR) die("wait4");
  const double ms = now_ms(CLOCK_MONOTONIC) - start;
  printf("{\"at\":%.3f,\"ms\":%.4f,\"cpu\":%.3f,\"status\":%d}\n", at, ms, cpu_ms(&usage),
         WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static void start_job(gid_t group, char **words) {
  int ready[2];
  if (pipe2(ready, O_CLOEXEC) != 0) die("pipe2");
  job = fork();
  if (job < 0) die("fork");
  if (job == 0) {
    char byte;
    close(ready[1]);
    setpgid(0, 0);
    if (group > 0 && setgroups(1, &group) != 0) _exit(126);
    /* Until the shepherd has written job_pid. */
    if (read(ready[0], &byte, 1) != 1) _exit(126);
    become(words);
  }
  setpgid(job, job); /* In parent and child, whichever comes first: `end` must find the group. */
  FILE *file = fopen("job_pid", "we");
  if (file == NULL) die("job_pid");
  fprintf(file, "%d\n", (int)job);
  fclose(file);
  if (write(ready[1], "x", 1) != 1) die("pipe");
  close(ready[0]);
  close(ready[1]);
  printf("{\"pid\":%d}\n", (int)job);
}

static void end_job(void) {
  if (job > 0) {
    kill(-job, SIGKILL);
    while (wait4(-job, NULL, 0, NULL) > 0 || errno == EINTR) continue;
    job = 0;
  }
  printf("{}\n");
}

static void drain(void) {
  const double start = now_ms(CLOCK_MONOTONIC);
  double cpu = 0;
  long largest = 0;
  for (;;) {
    struct rusage usage;
    if (wait4(-1, NULL, 0, &usage) < 0) {
      if (errno == EINTR) continue;
      break;
    }
    cpu += cpu_ms(&usage);
    if (usage.ru_maxrss > largest) largest = usage.ru_maxrss;
  }
  printf("{\"ms\":%.4f,\"cpu\":%.3f,\"largest\":%ld}\n", now_ms(CLOCK_MONOTONIC) - start, cpu, largest);
}

int main(void) {
  if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) die("prctl");
  prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
  const struct sigaction action = {.sa_handler = leave};
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGINT, &action, NULL);
  setvbuf(stdout, NULL, _IOLBF, 0);

  char *line = NULL;
  size_t size = 0;
  ssize_t length;
  while ((length = getline(&line, &size, stdin)) > 0) {
    char *words[MOST_WORDS + 1];
    int count = 0;
    if (line[length - 1] == '\n') line[length - 1] = '\0';
    for (char *word = strtok(line, "\t"); word != NULL && count < MOST_WORDS; word = strtok(NULL, "\t"))
      words[count++] = word;
    words[count] = NULL;
    if (count == 0) continue;
    if (strcmp(words[0], "limit") == 0 && count == 2) {
      limit = strtoull(words[1], NULL, 10);
      printf("{}\n");
    } else if (strcmp(words[0], "hook") == 0 && count > 1)
      hook(words + 1);
    else if (strcmp(words[0], "job") == 0 && count > 2)
      start_job((gid_t)strtoul(words[1], NULL, 10), words + 2);
    else if (strcmp(words[0], "end") == 0)
      end_job();
    else if (strcmp(words[0], "drain") == 0)
      drain();
    else {
      fprintf(stderr, "shepherd: no command %s\n", words[0]);
      return 2;
    }
  }
  kill_children();
  return 0;
}

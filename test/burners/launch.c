/* Starts one command as a shepherd does, and waits for it: the parent below which a sampler's lineage begins.
 *
 *   launch [--group=GID] [--uid=UID] [--as=BYTES] [--cgroup=DIR] [--whole=0] -- COMMAND...
 *
 * It forks when it is sent a byte, and prints the command's pid. When the command has ended (and, without --whole=0,
 * every process that it left behind) it prints the exit status and the rusage of wait4. One line of JSON each. */
#include "burner.h"
#include "options.h"

#include <grp.h>

static void enter_cgroup(const char *directory) {
  char path[512];
  snprintf(path, sizeof path, "%s/cgroup.procs", directory);
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0 || write(fd, "0", 1) != 1) die(path);
  close(fd);
}

int main(int argc, char **argv) {
  int own = 1;
  while (own < argc && strcmp(argv[own], "--") != 0) own++;
  options_begin(own, argv);
  const gid_t group = (gid_t)number_option("group", "0");
  const uid_t uid = (uid_t)number_option("uid", "0");
  const double address_space = number_option("as", "0");
  const char *cgroup = text_option("cgroup", "");
  const bool whole = number_option("whole", "1") > 0;
  options_end();
  if (own + 1 >= argc) return 2;
  if (cgroup[0] != '\0') enter_cgroup(cgroup);

  int left[2];
  if (pipe(left) != 0) die("pipe");
  char byte;
  if (read(0, &byte, 1) != 1) return 0;
  const pid_t parent = getpid(), pid = fork();
  if (pid < 0) die("fork");
  if (pid == 0) {
    close(left[0]);
    const int null = open("/dev/null", O_RDWR);
    if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0) die("/dev/null");
    close(null);
    if (group != 0 && setgroups(1, &group) != 0) die("setgroups");
    const struct rlimit limit = {(rlim_t)address_space, (rlim_t)address_space};
    if (address_space > 0 && setrlimit(RLIMIT_AS, &limit) != 0) die("setrlimit");
    if (uid != 0 && setuid(uid) != 0) die("setuid");
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) _exit(1);
    execv(argv[own + 1], argv + own + 1);
    die(argv[own + 1]);
  }
  close(left[1]);
  printf("{\"pid\":%d}\n", (int)pid);
  fflush(stdout);
  int status;
  struct rusage usage;
  if (wait4(pid, &status, 0, &usage) != pid) die("wait4");
  /* Every process of the command inherits the pipe's other end. */
  while (whole && read(left[0], &byte, 1) > 0) continue;
  printf("{\"status\":%d,\"maxrss_kib\":%ld,\"minflt\":%ld,\"utime\":%ld.%06ld,\"stime\":%ld.%06ld}\n",
         WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), usage.ru_maxrss, usage.ru_minflt,
         usage.ru_utime.tv_sec, usage.ru_utime.tv_usec, usage.ru_stime.tv_sec, usage.ru_stime.tv_usec);
  return 0;
}

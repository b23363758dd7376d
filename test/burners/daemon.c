/* Leaves its parent by double fork and setsid, and holds N MiB afterwards. --wait=1: the parent stays until the daemon
 * has gone; --execs=1: the daemon is an image of its own.
 * Truth: read and written by the daemon, which takes its memory only after the others have gone (with --wait=1: all
 * but the sleeping parent, read together with it) and only grows. cpu_s is the daemon's. */
#include "truth.h"
#include "children.h"

static void be_daemon(size_t bytes, double hold_ms, pid_t waiting_parent) {
  touch(map(bytes), 0, bytes);
  sleep_ms(hold_ms);
  struct process all[2];
  int count = 0;
  all[count++] = read_process(0, "daemon");
  if (waiting_parent != 0) all[count++] = read_process(waiting_parent, "parent");
  truth_moment(all, count);
  truth.children = 2;
  truth_write();
}

/* Returns when every other holder of the pipe's far end has gone: an exiting process loses its memory first
 * (exit_mm), its descriptors later (exit_files). */
static void await_closed(int fd) {
  char none;
  while (read(fd, &none, 1) > 0) continue;
  close(fd);
}

static void leave_terminal(void) {
  const int null = open("/dev/null", O_RDWR);
  if (null < 0) die("/dev/null");
  for (int fd = 0; fd < 3; fd++) dup2(null, fd);
  if (null > 2) close(null);
}

int main(int argc, char **argv) {
  truth_begin("daemon", argc, argv);
  const size_t bytes = mib_option("mib", "64");
  const double hold_ms = number_option("hold", "500");
  const bool waits = number_option("wait", "0") > 0;
  const bool execs = number_option("execs", "0") > 0;
  const pid_t as_daemon_of = (pid_t)number_option("as-daemon-of", "0"); /* this burner's own second image */
  options_end();
  const pid_t parent = as_daemon_of != 0 ? as_daemon_of : getpid();
  if (as_daemon_of != 0) {
    be_daemon(bytes, hold_ms, waits ? parent : 0);
    return 0;
  }

  int others[2], finished[2];
  if (pipe2(others, O_CLOEXEC) != 0 || pipe(finished) != 0) die("pipe");
  const pid_t middle = fork();
  if (middle < 0) die("fork");
  if (middle > 0) {
    if (waitpid(middle, NULL, 0) != middle) die("waitpid");
    close(finished[1]);
    if (!waits) return 0;
    close(others[1]);
    await_closed(finished[0]);
    return 0;
  }
  if (setsid() < 0) die("setsid");
  const pid_t daemon_pid = fork();
  if (daemon_pid < 0) die("fork");
  if (daemon_pid > 0) _exit(0);

  leave_terminal();
  close(finished[0]);
  close(others[1]);
  await_closed(others[0]);
  if (execs) {
    static struct holder_argv self;
    char again[32], *next[LISTED_PROCESSES];
    holder_argv(&self, -1, 0);
    snprintf(again, sizeof again, "--as-daemon-of=%d", (int)parent);
    if (argc > LISTED_PROCESSES - 2) die("too many arguments");
    next[0] = self.path;
    for (int i = 1; i < argc; i++) next[i] = argv[i];
    next[argc] = again;
    next[argc + 1] = NULL;
    execv(self.path, next);
    die("exec");
  }
  be_daemon(bytes, hold_ms, waits ? parent : 0);
  return 0;
}

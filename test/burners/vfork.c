/* A parent of N MiB starts helpers by vfork (which waits `delay` ms before its exec: until then two pids show one
 * address space) or by posix_spawn, one after the other.
 * Truth: parent and helper are read together at rest; the parent only grows, each helper has gone before the next. */
#include "truth.h"
#include "children.h"

#include <spawn.h>

extern char **environ;

/* The child may only use its own stack frame and call async-signal-safe functions: all is prepared before. */
static __attribute__((noinline)) pid_t vfork_exec(char *const argv[], const struct timespec *delay) {
  const pid_t pid = vfork();
  if (pid == 0) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, delay, NULL);
    (void)execv(argv[0], argv);
    _exit(127);
  }
  return pid;
}

static struct child start_helper(bool spawn, size_t bytes, double delay_ms) {
  static struct holder_argv it;
  const struct timespec delay = timespec_of_ms(delay_ms);
  int ends[2];
  child_socket(ends);
  holder_argv(&it, ends[1], bytes);
  pid_t pid = -1;
  if (spawn) errno = posix_spawn(&pid, it.path, NULL, NULL, it.argv, environ);
  else pid = vfork_exec(it.argv, &delay);
  if (pid < 0) die("vfork");
  close(ends[1]);
  return (struct child){.pid = pid, .fd = ends[0]};
}

int main(int argc, char **argv) {
  hold_if_asked(argc, argv);
  truth_begin("vfork", argc, argv);
  const size_t bytes = mib_option("mib", "64");
  const bool spawn = strcmp(text_option("how", "vfork"), "spawn") == 0;
  const double delay_ms = number_option("delay", "50");
  const double hold_ms = number_option("hold", "100");
  const size_t helper_bytes = mib_option("helper", "1");
  const int helpers = (int)number_option("helpers", "1");
  options_end();

  touch(map(bytes), 0, bytes);
  for (int i = 0; i < helpers; i++) {
    const struct child helper = start_helper(spawn, helper_bytes, delay_ms);
    hear(helper, 'r');
    command(helper, 't');
    sleep_ms(hold_ms);
    const struct process both[] = {read_process(0, "parent"), read_process(helper.pid, "helper")};
    truth_moment(both, 2);
    truth_pid_rss(2 * both[0].rss);
    dismiss(helper);
  }
  truth.children = helpers;
  truth_write();
  return 0;
}

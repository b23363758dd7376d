/* The first process makes a child with clone(CLONE_PARENT), its sibling for the kernel, which takes N MiB. --orphan=1: a
 * daemon does, whose parent has gone before.
 * Truth: maker and sibling are read together at rest; the maker holds next to nothing. */
#include "truth.h"

#include <sched.h>
#include <sys/syscall.h>

static void make_sibling(size_t bytes, double hold_ms) {
  int ready[2], over[2];
  char done = 0;
  if (pipe(ready) != 0 || pipe(over) != 0) die("pipe");
  const pid_t pid = (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
  if (pid < 0) die("clone");
  if (pid == 0) {
    close(over[1]);
    touch(map(bytes), 0, bytes);
    if (write(ready[1], &done, 1) != 1) _exit(1);
    while (read(over[0], &done, 1) > 0) continue;
    _exit(0);
  }
  if (read(ready[0], &done, 1) != 1) die("the sibling is gone");
  const struct process both[] = {read_process(0, "maker"), read_process(pid, "sibling")};
  truth_moment(both, 2);
  close(over[1]);
  sleep_ms(hold_ms);
}

int main(int argc, char **argv) {
  truth_begin("sibling", argc, argv);
  const size_t bytes = mib_option("mib", "64");
  const double before_ms = number_option("before", "100");
  const double hold_ms = number_option("hold", "100");
  const bool orphan = number_option("orphan", "0") > 0;
  options_end();

  if (orphan) {
    int gone[2];
    char none;
    if (pipe(gone) != 0) die("pipe");
    const pid_t middle = fork();
    if (middle < 0) die("fork");
    if (middle > 0) {
      close(gone[1]);
      /* Until the daemon has gone. */
      while (read(gone[0], &none, 1) > 0) continue;
      return waitpid(middle, NULL, 0) == middle ? 0 : 1;
    }
    close(gone[0]);
    if (fork() != 0) _exit(0);
  }
  sleep_ms(before_ms);
  make_sibling(bytes, hold_ms);
  truth.children = 1;
  truth_write();
  return 0;
}

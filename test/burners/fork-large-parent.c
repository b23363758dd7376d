/* A parent of N MiB forks a child, which is a copy-on-write image of it, and
 *   --execs=1: execs a small helper after `delay` ms. The copy never counted; the helper counts.
 *   --execs=0: stays that copy for good, and writes to `dirty` MiB of it. It counts in full in the sums of resident
 *              memory; in the footprint only its dirty pages do.
 * Truth: parent and child are read together at rest, the child at its largest; the parent only grows. With several
 * rounds each child has gone before the next. */
#include "truth.h"
#include "children.h"

int main(int argc, char **argv) {
  hold_if_asked(argc, argv);
  truth_begin("fork-large-parent", argc, argv);
  const size_t bytes = mib_option("mib", "64");
  const bool execs = number_option("execs", "1") > 0;
  const double delay_ms = number_option("delay", "50");
  const double hold_ms = number_option("hold", "200");
  const size_t helper_bytes = mib_option("helper", "1");
  size_t dirty = mib_option("dirty", "0");
  const int rounds = (int)number_option("rounds", "1");
  options_end();
  if (dirty > bytes) dirty = bytes;

  void *memory = map(bytes);
  touch(memory, 0, bytes);
  for (int i = 0; i < rounds; i++) {
    const struct process before = read_process(0, "parent");
    struct child child;
    if (execs) {
      child = exec_holder(helper_bytes, delay_ms);
    } else {
      child = fork_child();
      if (child.pid == 0) {
        touch(memory, 0, dirty);
        hold(child.fd, helper_bytes);
      }
    }
    hear(child, 'r');
    command(child, 't');
    sleep_ms(hold_ms);
    const struct process both[] = {read_process(0, "parent"), read_process(child.pid, execs ? "helper" : "copy")};
    truth_moment(both, 2);
    /* fork copies the page tables of anonymous memory only; the copy's file pages come back as it touches them */
    if (execs) truth_pid_rss(before.rss + before.anon);
    dismiss(child);
  }
  truth.children = rounds;
  truth_write();
  return 0;
}

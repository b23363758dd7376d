/* Two processes hold N MiB in turn: the one frees before the other takes, so that the sum never passes N plus the
 * three small images, although each of the two has a high-water mark of N.
 * Truth: all three are read at rest whenever one of the two holds. Between these moments the sum is smaller: the
 * freeing is over (the holder has answered) before the taking begins. */
#include "truth.h"
#include "children.h"

int main(int argc, char **argv) {
  hold_if_asked(argc, argv);
  truth_begin("handover", argc, argv);
  const size_t bytes = mib_option("mib", "64");
  const double hold_ms = number_option("hold", "100");
  const int rounds = (int)number_option("rounds", "3");
  const bool execs = number_option("execs", "1") > 0;
  options_end();

  struct child pair[2];
  for (int i = 0; i < 2; i++) {
    pair[i] = execs ? exec_holder(bytes, 0) : fork_holder(bytes);
    hear(pair[i], 'r');
  }
  for (int i = 0; i < 2 * rounds; i++) {
    const struct child holder = pair[i % 2];
    command(holder, 't');
    sleep_ms(hold_ms);
    const struct process all[] = {read_process(0, "coordinator"), read_process(pair[0].pid, "a"),
                                  read_process(pair[1].pid, "b")};
    truth_moment(all, 3);
    command(holder, 'f');
  }
  for (int i = 0; i < 2; i++) dismiss(pair[i]);
  truth.children = 2;
  truth_write();
  return 0;
}

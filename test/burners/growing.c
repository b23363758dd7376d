/* Grows to N MiB in proportion to time, in steps of 5 ms, then holds.
 * Truth: one process, one image; it only grows, so the last moment is the greatest. */
#include "truth.h"

int main(int argc, char **argv) {
  truth_begin("growing", argc, argv);
  const size_t bytes = mib_option("mib", "64");
  const double over_ms = number_option("over", "500");
  const double hold_ms = number_option("hold", "0");
  options_end();

  touch_linearly(map(bytes), bytes, over_ms);
  sleep_ms(hold_ms);

  const struct process self = read_process(0, "main");
  truth_moment(&self, 1);
  truth_write();
  return 0;
}

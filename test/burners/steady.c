/* Takes N MiB at once and holds them.
 * Truth: one process, one image; nothing is ever given back, so the last moment is the greatest. */
#include "truth.h"

int main(int argc, char **argv) {
  truth_begin("steady", argc, argv);
  const size_t bytes = mib_option("mib", "64");
  const double hold_ms = number_option("hold", "500");
  options_end();

  touch(map(bytes), 0, bytes);
  sleep_ms(hold_ms);

  const struct process self = read_process(0, "main");
  truth_moment(&self, 1);
  truth_write();
  return 0;
}

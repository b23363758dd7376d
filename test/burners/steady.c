/* Takes N MiB at once and holds them for `hold` ms, or until the file `until` is there.
 * Truth: one process, one image; nothing is ever given back, so the last moment is the greatest. */
#include "truth.h"

int main(int argc, char **argv) {
  truth_begin("steady", argc, argv);
  const size_t bytes = mib_option("mib", "64");
  const double hold_ms = number_option("hold", "500");
  const char *until = text_option("until", "");
  options_end();

  touch(map(bytes), 0, bytes);
  sleep_ms_or_until(hold_ms, until);

  const struct process self = read_process(0, "main");
  truth_moment(&self, 1);
  truth_write();
  return 0;
}

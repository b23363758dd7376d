/* Holds N MiB, then executes itself: the same pid goes on as a small image, whose VmHWM and VmPeak know nothing of the
 * large one. (ru_maxrss of the process does.)
 * Truth: written just before the exec. The small image never comes near: it holds `small` MiB, fewer than N. cpu_s is
 * that of the large image. */
#include "truth.h"
#include "children.h"

static _Noreturn void exec_small(size_t bytes, double ms) {
  static struct holder_argv it;
  static char flag[] = "--small", time[32];
  holder_argv(&it, -1, bytes);
  snprintf(time, sizeof time, "%.3f", ms);
  it.argv[1] = flag;
  it.argv[2] = time;
  execv(it.path, it.argv);
  die("exec");
}

static void be_small(double ms, size_t bytes) {
  touch(map(bytes), 0, bytes);
  sleep_ms(ms);
}

int main(int argc, char **argv) {
  if (argc == 4 && strcmp(argv[1], "--small") == 0) {
    be_small(strtod(argv[2], NULL), (size_t)strtoull(argv[3], NULL, 10));
    return 0;
  }
  truth_begin("shrink-by-exec", argc, argv);
  const size_t bytes = mib_option("mib", "64");
  const double hold_ms = number_option("hold", "200");
  const size_t small_bytes = mib_option("small", "1");
  const double small_ms = number_option("after", "300");
  options_end();

  touch(map(bytes), 0, bytes);
  sleep_ms(hold_ms);
  const struct process self = read_process(0, "large");
  truth_moment(&self, 1);
  truth_write();
  exec_small(small_bytes, small_ms);
}

/* Holds a base, takes N MiB more for a given time, gives them back.
 * Truth: by sum, so that the reading does not lengthen the spike: what was resident just before plus the N MiB, which
 * are the only pages touched until they are unmapped. extra.length_ms: how long the longest spike held all of them. */
#include "truth.h"

static struct process with_spike(struct process it, long long bytes) {
  it.rss += bytes;
  it.anon += bytes;
  it.vmsize += bytes;
  if (it.footprint >= 0) it.footprint += bytes;
  return it;
}

int main(int argc, char **argv) {
  truth_begin("spike", argc, argv);
  const size_t base = mib_option("base", "8");
  const size_t bytes = mib_option("mib", "64");
  const double before_ms = number_option("before", "200");
  const double length_ms = number_option("length", "20");
  const double after_ms = number_option("after", "200");
  const int spikes = (int)number_option("spikes", "1");
  options_end();

  double longest_ms = 0;
  touch(map(base), 0, base);
  for (int i = 0; i < spikes; i++) {
    sleep_ms(before_ms);
    struct process it = with_spike(read_process(0, "main"), (long long)bytes);
    void *spike = map(bytes);
    touch(spike, 0, bytes);
    const double peak_at = clock_ms(CLOCK_REALTIME), full = now_ms();
    sleep_ms(length_ms);
    const double lasted_ms = now_ms() - full;
    if (lasted_ms > longest_ms) longest_ms = lasted_ms;
    unmap(spike, bytes);
    const struct process after = read_process(0, "main");
    it.hwm = after.hwm;
    it.vmpeak = after.vmpeak; /* exact */
    truth_moment(&it, 1);
    truth.peak_at = peak_at;
  }
  sleep_ms(after_ms);
  truth_number("length_ms", longest_ms);
  truth_write();
  return 0;
}

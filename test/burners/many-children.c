/* Starts many short children in waves of `concurrency`: each takes s MiB, lives `life` ms with them, and leaves.
 * --execs=0: they stay forks of the coordinator.
 * Truth: the coordinator reads itself and a whole wave together at rest, wave after wave; a wave has gone before the
 * next starts. extra.waves tells how many. */
#include "truth.h"
#include "children.h"

int main(int argc, char **argv) {
  hold_if_asked(argc, argv);
  truth_begin("many-children", argc, argv);
  const int count = (int)number_option("children", "40");
  const int concurrency = (int)number_option("concurrency", "4");
  const size_t bytes = mib_option("mib", "4");
  const double life_ms = number_option("life", "10");
  const double pause_ms = number_option("pause", "0");
  const bool execs = number_option("execs", "1") > 0;
  options_end();
  if (concurrency < 1 || concurrency >= LISTED_PROCESSES) die("--concurrency");

  static struct child wave[LISTED_PROCESSES];
  static struct process all[LISTED_PROCESSES];
  touch(all, 0, sizeof all);
  int waves = 0;
  for (int started = 0; started < count; waves++) {
    int size = 0;
    for (; size < concurrency && started < count; size++, started++)
      wave[size] = execs ? exec_holder(bytes, 0) : fork_holder(bytes);
    for (int i = 0; i < size; i++) hear(wave[i], 'r');
    for (int i = 0; i < size; i++) tell(wave[i], 't');
    for (int i = 0; i < size; i++) hear(wave[i], 't');
    sleep_ms(life_ms);
    all[0] = read_process(0, "coordinator");
    for (int i = 0; i < size; i++) all[i + 1] = read_process(wave[i].pid, "child");
    truth_moment(all, size + 1);
    for (int i = 0; i < size; i++) dismiss(wave[i]);
    sleep_ms(pause_ms);
  }
  truth.children = count;
  truth_number("waves", waves);
  truth_write();
  return 0;
}

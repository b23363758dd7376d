/* k threads in one address space, each touching its own share of N MiB.
 * Truth: one mm; all shares are held at a barrier while the main thread reads, and none is given back before. Stacks
 * and guards of the threads are in VmSize: vmem is far above rss. */
#include "truth.h"

static struct {
  size_t share;
  double hold_ms;
  pthread_barrier_t touched, done;
} plan;

static void *worker(void *unused) {
  (void)unused;
  void *memory = map(plan.share);
  touch(memory, 0, plan.share);
  pthread_barrier_wait(&plan.touched);
  pthread_barrier_wait(&plan.done);
  return NULL;
}

int main(int argc, char **argv) {
  truth_begin("threads", argc, argv);
  const int threads = (int)number_option("threads", "4");
  const size_t bytes = mib_option("mib", "64");
  plan.hold_ms = number_option("hold", "500");
  options_end();
  if (threads < 1) die("--threads");

  plan.share = bytes / (size_t)threads / page_bytes() * page_bytes();
  pthread_t *started = calloc((size_t)threads, sizeof *started);
  if (started == NULL) die("calloc");
  pthread_barrier_init(&plan.touched, NULL, (unsigned)threads + 1);
  pthread_barrier_init(&plan.done, NULL, (unsigned)threads + 1);
  for (int i = 0; i < threads; i++) {
    errno = pthread_create(&started[i], NULL, worker, NULL);
    if (errno != 0) die("pthread_create");
  }
  pthread_barrier_wait(&plan.touched);
  sleep_ms(plan.hold_ms);
  const struct process self = read_process(0, "main");
  truth_moment(&self, 1);
  truth_number("threads", threads + 1);
  pthread_barrier_wait(&plan.done);
  for (int i = 0; i < threads; i++) pthread_join(started[i], NULL);
  truth_write();
  return 0;
}

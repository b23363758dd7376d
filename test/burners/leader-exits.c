/* The main thread leaves by pthread_exit; k threads live on and grow to N MiB together. /proc/PID/status then has no Vm
 * lines and /proc/PID/stat shows a zombie: only /proc/PID/task/TID/status knows.
 * Truth: read by one of the threads while all hold at a barrier; it only grows until then. */
#include "truth.h"

static struct {
  size_t share;
  double grow_ms, hold_ms;
  int threads;
  pthread_barrier_t touched, done;
} plan;

/* '\0' where the state can't be read. */
static char state_of_leader(void) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)getpid());
  if (!slurp(path)) return '\0';
  const char *end_of_name = strrchr(truth.text, ')');
  return end_of_name == NULL ? '\0' : end_of_name[2];
}

static void *worker(void *number) {
  const bool speaker = number == NULL;
  if (speaker)
    while (state_of_leader() != 'Z') sleep_ms(1);
  pthread_barrier_wait(&plan.touched);
  void *memory = map(plan.share);
  touch_linearly(memory, plan.share, plan.grow_ms);
  pthread_barrier_wait(&plan.touched);
  if (speaker) {
    sleep_ms(plan.hold_ms);
    const struct process self = read_process(0, "threads");
    truth_moment(&self, 1);
    truth_number("threads", plan.threads);
    truth_write();
    _exit(0);
  }
  pthread_barrier_wait(&plan.done);
  return NULL;
}

int main(int argc, char **argv) {
  truth_begin("leader-exits", argc, argv);
  plan.threads = (int)number_option("threads", "2");
  const size_t bytes = mib_option("mib", "64");
  plan.grow_ms = number_option("grow", "200");
  plan.hold_ms = number_option("hold", "200");
  options_end();
  if (plan.threads < 1) die("--threads");

  plan.share = bytes / (size_t)plan.threads / page_bytes() * page_bytes();
  pthread_barrier_init(&plan.touched, NULL, (unsigned)plan.threads);
  pthread_barrier_init(&plan.done, NULL, (unsigned)plan.threads + 1);
  for (long i = 0; i < plan.threads; i++) {
    pthread_t thread;
    errno = pthread_create(&thread, NULL, worker, (void *)i);
    if (errno != 0) die("pthread_create");
  }
  pthread_exit(NULL);
}

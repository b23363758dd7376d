/* Burns CPU seconds, shared out over processes and their threads; `system` is the share burnt in system calls.
 * Truth: cpu_s is getrusage of this process and of its reaped children, read last; the seconds asked for are measured
 * by each thread's own clock, so cpu_s is that plus a few ms for start and end. Memory: all threads of all processes
 * have started and wait when they are read; the burning was rehearsed and touches nothing more. */
#include "truth.h"
#include "children.h"

static struct {
  double ms;
  double system_share;
  pthread_barrier_t started, go;
} plan;

static void burn(void) {
  volatile unsigned long sink = 0;
  const double start = clock_ms(CLOCK_THREAD_CPUTIME_ID);
  double in_system = 0;
  for (double now = start; now - start < plan.ms;) {
    const bool calls = in_system < (now - start) * plan.system_share;
    if (calls)
      for (int i = 0; i < 2000; i++) (void)fcntl(0, F_GETFD);
    else
      for (int i = 0; i < 200000; i++) sink = sink * 31 + (unsigned long)i;
    const double then = clock_ms(CLOCK_THREAD_CPUTIME_ID);
    if (calls) in_system += then - now;
    now = then;
  }
}

static void *burner(void *unused) {
  (void)unused;
  pthread_barrier_wait(&plan.started);
  pthread_barrier_wait(&plan.go);
  burn();
  return NULL;
}

/* Starts all threads but the calling one; on return they wait for plan.go. */
static pthread_t *start_threads(int threads) {
  pthread_t *started = calloc((size_t)threads, sizeof *started);
  if (started == NULL) die("calloc");
  pthread_barrier_init(&plan.started, NULL, (unsigned)threads);
  pthread_barrier_init(&plan.go, NULL, (unsigned)threads);
  for (int i = 1; i < threads; i++) {
    errno = pthread_create(&started[i], NULL, burner, NULL);
    if (errno != 0) die("pthread_create");
  }
  pthread_barrier_wait(&plan.started);
  return started;
}

static void burn_with(const pthread_t *started, int threads) {
  pthread_barrier_wait(&plan.go);
  burn();
  for (int i = 1; i < threads; i++) pthread_join(started[i], NULL);
}

/* A round of next to nothing, so that the real one touches no code or stack for the first time. */
static void rehearse(int threads) {
  const double ms = plan.ms;
  plan.ms = 0.01;
  burn_with(start_threads(threads), threads);
  plan.ms = ms;
}

int main(int argc, char **argv) {
  truth_begin("cpu", argc, argv);
  const double seconds = number_option("seconds", "1");
  const int threads = (int)number_option("threads", "1");
  const int processes = (int)number_option("processes", "1");
  plan.system_share = number_option("system", "0");
  options_end();
  if (threads < 1 || processes < 1 || processes >= LISTED_PROCESSES) die("--threads, --processes");
  plan.ms = seconds * 1e3 / threads / processes;

  static struct child children[LISTED_PROCESSES];
  static struct process all[LISTED_PROCESSES];
  touch(all, 0, sizeof all);
  for (int i = 1; i < processes; i++) {
    children[i] = fork_child();
    if (children[i].pid == 0) {
      rehearse(threads);
      const pthread_t *started = start_threads(threads);
      char letter = 'r';
      if (write(children[i].fd, &letter, 1) != 1 || read(children[i].fd, &letter, 1) != 1) _exit(1);
      burn_with(started, threads);
      _exit(0);
    }
  }
  for (int i = 1; i < processes; i++) hear(children[i], 'r');
  rehearse(threads);
  const pthread_t *started = start_threads(threads);
  for (int i = 1; i < processes; i++) all[i] = read_process(children[i].pid, "child");
  all[0] = read_process(0, "main");
  truth_moment(all, processes);
  for (int i = 1; i < processes; i++) tell(children[i], 'g');
  burn_with(started, threads);
  for (int i = 1; i < processes; i++) reap(children[i]);

  truth.children = processes - 1;
  truth_number("threads", threads);
  truth_write();
  return 0;
}

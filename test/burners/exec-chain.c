/* One process executes itself several times, as `env` and wrapper scripts do: the images hold S MiB each, the one
 * numbered `peak` N MiB. Marks of replaced images are lost; ru_maxrss of whoever waits for the process has them.
 *   --how=first   the job's first process does it
 *   --how=child   a child of it, which it waits for
 *   --how=orphan  a grandchild for which no process of the job waits; the first process stays until it has gone
 * --thread=1: each exec is made by a thread that is not the process's first.
 * Truth: the image with N MiB reads itself, and the waiting first process with it, at rest; no other image comes near.
 * cpu_s is that image's and its predecessors'. */
#include "truth.h"
#include "children.h"

static struct {
  char *argv[LISTED_PROCESSES];
  pthread_barrier_t ready;
} next_image;

static void *execute(void *unused) {
  (void)unused;
  pthread_barrier_wait(&next_image.ready);
  execv(next_image.argv[0], next_image.argv);
  die("exec");
}

/* Becomes the process of the chain, or waits for it and does not return. */
static void begin_chain(const char *how) {
  int finished[2];
  if (strcmp(how, "first") == 0) return;
  const bool orphan = strcmp(how, "orphan") == 0;
  if (pipe(finished) != 0) die("pipe");
  const pid_t child = fork();
  if (child < 0) die("fork");
  if (child == 0) {
    close(finished[0]);
    if (!orphan) return;
    const pid_t grandchild = fork();
    if (grandchild < 0) die("fork");
    if (grandchild > 0) _exit(0);
    return;
  }
  close(finished[1]);
  char none;
  int status;
  if (waitpid(child, &status, 0) != child) die("waitpid");
  while (read(finished[0], &none, 1) > 0) continue;
  exit(status == 0 ? 0 : 1);
}

int main(int argc, char **argv) {
  truth_begin("exec-chain", argc, argv);
  const char *how = text_option("how", "first");
  const int images = (int)number_option("images", "3");
  const int peak = (int)number_option("peak", "1");
  const size_t bytes = mib_option("mib", "64");
  const size_t small_bytes = mib_option("small", "2");
  const double hold_ms = number_option("hold", "50");
  const bool by_thread = number_option("thread", "0") > 0;
  const int image = (int)number_option("image", "0"); /* of this process's later images, and of its waiter */
  pid_t waiting = (pid_t)number_option("waiting", "0");
  options_end();

  if (image == 0) {
    const pid_t first = getpid();
    begin_chain(how);
    if (getpid() != first) waiting = first;
  }
  pthread_t executor;
  pthread_barrier_init(&next_image.ready, NULL, by_thread ? 2 : 1);
  if (by_thread && (errno = pthread_create(&executor, NULL, execute, NULL)) != 0) die("pthread_create");
  const size_t own = image == peak ? bytes : small_bytes;
  touch(map(own), 0, own);
  sleep_ms(hold_ms);
  if (image == peak) {
    struct process all[2];
    int count = 0;
    all[count++] = read_process(0, "chain");
    if (waiting != 0) all[count++] = read_process(waiting, "first");
    truth_moment(all, count);
    truth_number("images", images);
    truth_write();
  }
  if (image + 1 >= images) return 0;
  static char path[4096], number[32], waiter[32];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length < 0) die("/proc/self/exe");
  path[length] = '\0';
  snprintf(number, sizeof number, "--image=%d", image + 1);
  snprintf(waiter, sizeof waiter, "--waiting=%d", (int)waiting);
  const int given = image == 0 ? argc : argc - 2;
  if (given > LISTED_PROCESSES - 3) die("too many arguments");
  next_image.argv[0] = path;
  for (int i = 1; i < given; i++) next_image.argv[i] = argv[i];
  next_image.argv[given] = number;
  next_image.argv[given + 1] = waiter;
  next_image.argv[given + 2] = NULL;
  if (!by_thread) (void)execute(NULL);
  pthread_barrier_wait(&next_image.ready);
  pthread_join(executor, NULL);
  return 1;
}

/* N MiB of one MAP_SHARED mapping touched by k processes: each has them in its RSS, the footprint has them once.
 * --file=PATH maps a file made there instead (and removed at once): then they are page cache, and in no footprint,
 * unless the path is on a tmpfs.
 * Truth: all processes are read together at rest, each having touched everything; nothing is unmapped before. */
#include "truth.h"
#include "children.h"

static void *map_shared(const char *file, size_t bytes) {
  if (file[0] == '\0') return map_flags(bytes, MAP_SHARED);
  const int fd = open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0 || unlink(file) != 0 || ftruncate(fd, (off_t)bytes) != 0) die(file);
  void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) die("mmap");
  close(fd);
  return at;
}

int main(int argc, char **argv) {
  truth_begin("shared-map", argc, argv);
  const size_t bytes = mib_option("mib", "32");
  const int count = (int)number_option("processes", "3");
  const double hold_ms = number_option("hold", "300");
  const char *file = text_option("file", "");
  options_end();
  if (count < 1 || count >= LISTED_PROCESSES) die("--processes");

  void *shared = map_shared(file, bytes);
  struct child children[LISTED_PROCESSES];
  struct process all[LISTED_PROCESSES];
  for (int i = 0; i < count; i++) {
    children[i] = fork_child();
    if (children[i].pid == 0) {
      touch(shared, 0, bytes);
      hold(children[i].fd, 0);
    }
  }
  for (int i = 0; i < count; i++) hear(children[i], 'r');
  sleep_ms(hold_ms);
  all[count] = read_process(0, "coordinator");
  for (int i = 0; i < count; i++) all[i] = read_process(children[i].pid, "sharer");
  truth_moment(all, count + 1);
  for (int i = 0; i < count; i++) dismiss(children[i]);
  truth.children = count;
  truth_write();
  return 0;
}

/* Writes N MiB to a file, syncs, drops it from the page cache where the file system lets it, and reads it back.
 * Truth: extra.io_written and extra.io_read are the bytes this program moved through that file; rchar, wchar,
 * read_bytes and write_bytes are the kernel's own account of the process just before the end (the last two are 0 on a
 * tmpfs; absent where the kernel keeps none). Memory: a small image that only grows, read at the end. */
#include "truth.h"

enum { CHUNK = 256 * 1024 };

static unsigned char chunk[CHUNK];

static void kernel_account(void) {
  static const char *const names[] = {"rchar", "wchar", "read_bytes", "write_bytes"};
  if (!slurp("/proc/self/io")) return;
  for (int i = 0; i < 4; i++) {
    char sought[32];
    snprintf(sought, sizeof sought, "%s: ", names[i]);
    const char *at = strstr(truth.text, sought);
    if (at != NULL) truth_number(names[i], strtod(at + strlen(sought), NULL));
  }
}

int main(int argc, char **argv) {
  truth_begin("io", argc, argv);
  const size_t bytes = mib_option("mib", "16");
  const double hold_ms = number_option("hold", "0");
  char fallback[64];
  snprintf(fallback, sizeof fallback, "/tmp/burner-io-%d", (int)getpid());
  const char *file = text_option("file", fallback);
  options_end();

  const int fd = open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0 || unlink(file) != 0) die(file);
  touch(chunk, 0, sizeof chunk);
  double written = 0, back = 0;
  for (size_t left = bytes; left > 0;) {
    const ssize_t did = write(fd, chunk, left < CHUNK ? left : CHUNK);
    if (did <= 0) die("write");
    left -= (size_t)did;
    written += (double)did;
  }
  if (fsync(fd) != 0) die("fsync");
  (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  if (lseek(fd, 0, SEEK_SET) != 0) die("lseek");
  for (ssize_t did; (did = read(fd, chunk, CHUNK)) != 0;) {
    if (did < 0) die("read");
    back += (double)did;
  }
  sleep_ms(hold_ms);

  truth_number("io_written", written);
  truth_number("io_read", back);
  const struct process self = read_process(0, "main");
  truth_moment(&self, 1);
  kernel_account();
  truth_write();
  return 0;
}

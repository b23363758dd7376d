/* A file system whose files can be opened, and whose reads are never answered: what reads one is beyond SIGKILL.
 *
 *   silent-fuse DIRECTORY     mounts there, says "mounted", and ends with its standard input: the reads then fail
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static int device;

static void reply(uint64_t unique, int error, const void *body, size_t length) {
  struct fuse_out_header head = {.len = (uint32_t)(sizeof head + length), .error = error, .unique = unique};
  struct iovec parts[] = {{&head, sizeof head}, {(void *)(uintptr_t)body, length}};
  if (writev(device, parts, 2) < 0 && errno != ENOENT) perror("reply");
}

static struct fuse_attr attributes(uint64_t node) {
  return (struct fuse_attr){
      .ino = node,
      .size = 4096,
      .mode = node == FUSE_ROOT_ID ? S_IFDIR | 0755 : S_IFREG | 0644,
      .nlink = 1,
      .blksize = 4096,
  };
}

static void serve(const struct fuse_in_header *in) {
  switch (in->opcode) {
    case FUSE_INIT: {
      const struct fuse_init_in *theirs = (const void *)(in + 1);
      struct fuse_init_out out = {.major = 7, .minor = theirs->minor < 31 ? theirs->minor : 31, .max_write = 4096};
      reply(in->unique, 0, &out, sizeof out);
      return;
    }
    case FUSE_LOOKUP: {
      struct fuse_entry_out out = {.nodeid = 2, .attr = attributes(2)};
      reply(in->unique, 0, &out, sizeof out);
      return;
    }
    case FUSE_GETATTR: {
      struct fuse_attr_out out = {.attr = attributes(in->nodeid)};
      reply(in->unique, 0, &out, sizeof out);
      return;
    }
    case FUSE_OPEN: {
      /* Direct I/O: a reader that waits for the page cache can be killed. */
      struct fuse_open_out out = {.open_flags = FOPEN_DIRECT_IO};
      reply(in->unique, 0, &out, sizeof out);
      return;
    }
    case FUSE_READ:
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT:
      return;
    case FUSE_FLUSH:
    case FUSE_RELEASE:
      reply(in->unique, 0, NULL, 0);
      return;
    default:
      reply(in->unique, -ENOSYS, NULL, 0);
  }
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  char options[64];
  device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (device < 0) {
    perror("/dev/fuse");
    return 1;
  }
  snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0", device);
  if (mount("silent", argv[1], "fuse", MS_NOSUID | MS_NODEV, options) != 0) {
    perror("mount");
    return 1;
  }
  puts("mounted");
  fflush(stdout);
  static char buffer[1 << 17] __attribute__((aligned(8)));
  for (;;) {
    struct pollfd wait[] = {{.fd = device, .events = POLLIN}, {.fd = 0, .events = POLLIN}};
    if (poll(wait, 2, -1) < 0 && errno != EINTR) break;
    if (wait[1].revents != 0) break;
    if (wait[0].revents == 0) continue;
    if (read(device, buffer, sizeof buffer) >= (ssize_t)sizeof(struct fuse_in_header)) serve((const void *)buffer);
    else if (errno == ENODEV) break;
  }
  umount2(argv[1], MNT_DETACH);
  return 0;
}

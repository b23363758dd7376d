/* Child processes that do one thing at a time, on command, so that the parent knows when all of them are at rest.
 *
 * A holder takes memory on 't', frees it on 'f', leaves on 'q' or when its parent is gone; it answers each command with
 * the same letter once done, and then blocks in read(): from the answer on it touches nothing. */
#ifndef CHILDREN_H
#define CHILDREN_H

#include "burner.h"

struct child {
  pid_t pid;
  int fd;
};

static inline _Noreturn void hold(int fd, size_t bytes) {
  void *memory = NULL;
  char command = 'r';
  for (;;) {
    if (send(fd, &command, 1, MSG_NOSIGNAL) != 1) _exit(1);
    if (read(fd, &command, 1) != 1 || command == 'q') _exit(0);
    if (command == 't') {
      memory = map(bytes);
      touch(memory, 0, bytes);
    } else if (command == 'f') {
      unmap(memory, bytes);
    }
  }
}

/* Called first in main: where this image was started as a holder it becomes one and does not return. */
static inline void hold_if_asked(int argc, char **argv) {
  if (argc == 4 && strcmp(argv[1], "--holder") == 0) hold(atoi(argv[2]), (size_t)strtoull(argv[3], NULL, 10));
}

/* argv of this executable as a holder. By its real path: executing /proc/self/exe would make the command name "exe". */
struct holder_argv {
  char path[4096], fd[16], bytes[24];
  char *argv[5];
};

static inline void holder_argv(struct holder_argv *it, int fd, size_t bytes) {
  static char flag[] = "--holder";
  const ssize_t length = readlink("/proc/self/exe", it->path, sizeof it->path - 1);
  if (length < 0) die("/proc/self/exe");
  it->path[length] = '\0';
  snprintf(it->fd, sizeof it->fd, "%d", fd);
  snprintf(it->bytes, sizeof it->bytes, "%zu", bytes);
  it->argv[0] = it->path;
  it->argv[1] = flag;
  it->argv[2] = it->fd;
  it->argv[3] = it->bytes;
  it->argv[4] = NULL;
}

/* ends[0] is the parent's and closes on exec, ends[1] the child's. */
static inline void child_socket(int ends[2]) {
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) die("socketpair");
  if (fcntl(ends[0], F_SETFD, FD_CLOEXEC) != 0) die("fcntl");
}

/* Forks; the child dies with its parent however that ends, so nothing is left behind. Returns pid 0 in the child. */
static inline struct child fork_child(void) {
  int ends[2];
  child_socket(ends);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) die("fork");
  if (pid == 0) {
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) _exit(1);
    close(ends[0]);
    return (struct child){.pid = 0, .fd = ends[1]};
  }
  close(ends[1]);
  return (struct child){.pid = pid, .fd = ends[0]};
}

static inline void tell(struct child child, char command) {
  if (send(child.fd, &command, 1, MSG_NOSIGNAL) != 1) die("a child is gone");
}

static inline void hear(struct child child, char expected) {
  char answer = '\0';
  if (read(child.fd, &answer, 1) != 1 || answer != expected) die("a child is gone");
}

static inline void command(struct child child, char order) {
  tell(child, order);
  hear(child, order);
}

/* A holder in a fork of this image that never execs. Doesn't wait for it to be ready: hear(child, 'r') does. */
static inline struct child fork_holder(size_t bytes) {
  const struct child child = fork_child();
  if (child.pid == 0) hold(child.fd, bytes);
  return child;
}

/* A holder in an image of its own; its copy of this image lasts `delay_ms` before the exec. */
static inline struct child exec_holder(size_t bytes, double delay_ms) {
  static struct holder_argv it;
  const struct child child = fork_child();
  if (child.pid == 0) {
    holder_argv(&it, child.fd, bytes);
    sleep_ms(delay_ms);
    execv(it.path, it.argv);
    _exit(127);
  }
  return child;
}

/* Returns when the process has gone; its memory went before (exit_mm comes before the parent is told). */
static inline void reap(struct child child) {
  int status;
  while (waitpid(child.pid, &status, 0) < 0)
    if (errno != EINTR) die("waitpid");
  close(child.fd);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    fprintf(stderr, "%s: a child failed (status %x)\n", program_invocation_short_name, (unsigned)status);
    exit(1);
  }
}

static inline void dismiss(struct child child) {
  tell(child, 'q');
  reap(child);
}

#endif

/* What every burner needs: errors, time, memory that is really touched. Linux only, C11. */
#ifndef BURNER_H
#define BURNER_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static inline _Noreturn void die(const char *what) {
  fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
  exit(1);
}

/* ---- time ---- */

static inline double clock_ms(clockid_t clock) {
  struct timespec now;
  if (clock_gettime(clock, &now) != 0) die("clock_gettime");
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static inline double now_ms(void) {
  return clock_ms(CLOCK_MONOTONIC);
}

static inline struct timespec timespec_of_ms(double ms) {
  struct timespec time = {.tv_sec = (time_t)(ms / 1e3)};
  time.tv_nsec = (long)((ms - (double)time.tv_sec * 1e3) * 1e6);
  return time;
}

/* Sleeps until an instant of now_ms(), so that a series of steps does not drift. */
static inline void sleep_until(double ms) {
  const struct timespec until = timespec_of_ms(ms);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) continue;
}

static inline void sleep_ms(double ms) {
  if (ms > 0) sleep_until(now_ms() + ms);
}

/* Sleeps `ms`, or less where `file` is named and exists earlier. */
static inline void sleep_ms_or_until(double ms, const char *file) {
  const double end = now_ms() + ms;
  if (*file == '\0') sleep_ms(ms);
  else
    while (now_ms() < end && access(file, F_OK) != 0) sleep_ms(20);
}

/* ---- memory ---- */

static inline size_t page_bytes(void) {
  return (size_t)sysconf(_SC_PAGESIZE);
}

/* Maps address space of its own; nothing is resident before touch(). Ordinary pages only: a huge page would make
 * resident what was never touched. */
static inline void *map_flags(size_t bytes, int flags) {
  if (bytes == 0) return NULL;
  void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) die("mmap");
  (void)madvise(at, bytes, MADV_NOHUGEPAGE); /* EINVAL: a kernel without huge pages */
  return at;
}

static inline void *map(size_t bytes) {
  return map_flags(bytes, MAP_PRIVATE);
}

/* Writes one byte of every page in [from, to): one fault each, none optimised away. */
static inline void touch(void *at, size_t from, size_t to) {
  volatile unsigned char *memory = at;
  const size_t page = page_bytes();
  for (size_t i = from; i < to; i += page) memory[i] = (unsigned char)(1 + (i / page) % 255);
}

/* Makes the block resident page by page, in proportion to the time passed, over `ms`. */
static inline void touch_linearly(void *at, size_t bytes, double ms) {
  const double start = now_ms();
  const size_t page = page_bytes();
  size_t done = 0;
  for (double next = start; done < bytes; next += 5) {
    sleep_until(next);
    const double share = ms > 0 ? (now_ms() - start) / ms : 1;
    size_t goal = share >= 1 ? bytes : (size_t)((double)bytes * share) / page * page;
    if (goal > done) {
      touch(at, done, goal);
      done = goal;
    }
  }
}

static inline void unmap(void *at, size_t bytes) {
  if (bytes > 0 && munmap(at, bytes) != 0) die("munmap");
}

#endif

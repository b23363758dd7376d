/* The yardstick for reading one process: preads statm and status of every given process through descriptors that stay
 * open, and takes the same ten numbers out of them as src/sources/proc does.
 *
 *   read-loop ROUNDS PID...
 *
 * For each line on stdin: ROUNDS times over all processes, then one line with the CPU nanoseconds for one process. */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct reading {
  uint64_t size, resident;
  uint64_t vm_peak, vm_size, vm_hwm, vm_rss, rss_anon, rss_file, rss_shmem, vm_swap;
};

static uint64_t number(const char **at) {
  const char *p = *at;
  uint64_t value = 0;
  while (*p == ' ' || *p == '\t') p++;
  for (; *p >= '0' && *p <= '9'; p++) value = value * 10 + (uint64_t)(*p - '0');
  *at = p;
  return value;
}

static void parse_statm(const char *text, struct reading *out) {
  out->size = number(&text);
  out->resident = number(&text);
}

static int parse_status(const char *text, struct reading *out) {
  static const struct {
    const char *key;
    size_t length, offset;
  } fields[] = {
#define FIELD(key, member) {key ":", sizeof key, offsetof(struct reading, member)}
      FIELD("VmPeak", vm_peak),   FIELD("VmSize", vm_size),   FIELD("VmHWM", vm_hwm),       FIELD("VmRSS", vm_rss),
      FIELD("RssAnon", rss_anon), FIELD("RssFile", rss_file), FIELD("RssShmem", rss_shmem), FIELD("VmSwap", vm_swap),
  };
  const size_t count = sizeof fields / sizeof fields[0];
  const char *line = strstr(text, "\nVmPeak:");
  if (line == NULL) return 0;
  line++;
  /* The kernel's order is the order of the list; lines in between are skipped. */
  for (size_t field = 0; field < count && *line != '\0';) {
    if (strncmp(line, fields[field].key, fields[field].length) == 0) {
      const char *at = line + fields[field].length;
      *(uint64_t *)((char *)out + fields[field].offset) = number(&at);
      field++;
      line = at;
    }
    line = strchr(line, '\n');
    if (line == NULL) return 0;
    line++;
  }
  return 1;
}

static int open_file(const char *pid, const char *name) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%s/%s", pid, name);
  return open(path, O_RDONLY | O_CLOEXEC);
}

static double cpu_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  const long rounds = strtol(argv[1], NULL, 10);
  const int count = argc - 2;
  int *files = calloc((size_t)count * 2, sizeof *files);
  struct reading *readings = calloc((size_t)count, sizeof *readings);
  if (files == NULL || readings == NULL) return 1;
  for (int i = 0; i < count; i++) {
    files[2 * i] = open_file(argv[i + 2], "statm");
    files[2 * i + 1] = open_file(argv[i + 2], "status");
  }
  static char text[16384], line[64];
  while (fgets(line, sizeof line, stdin) != NULL) {
    const double begin = cpu_ns();
    for (long round = 0; round < rounds; round++)
      for (int i = 0; i < count; i++) {
        ssize_t length = pread(files[2 * i], text, sizeof text - 1, 0);
        if (length <= 0) return 1;
        text[length] = '\0';
        parse_statm(text, &readings[i]);
        length = pread(files[2 * i + 1], text, sizeof text - 1, 0);
        if (length <= 0) return 1;
        text[length] = '\0';
        if (!parse_status(text, &readings[i])) return 1;
      }
    const double spent = cpu_ns() - begin;
    uint64_t check = 0;
    for (int i = 0; i < count; i++) check += readings[i].resident + readings[i].vm_hwm + readings[i].vm_swap;
    printf("{\"ns\":%.1f,\"check\":%llu}\n", spent / (double)(rounds * count), (unsigned long long)check);
    fflush(stdout);
  }
  return 0;
}

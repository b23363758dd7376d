/* The truth that a burner knows about itself, written as one line of JSON to --truth=FILE.
 *
 * How it is known: a burner brings all its processes to rest (blocked on a pipe, nothing left to touch), and one of
 * them then reads the others and itself. `rss`, `footprint` and `swap` come from smaps_rollup, a walk over the page
 * tables: exact on every kernel, where the counters in status are approximate before 6.17. VmSize and VmPeak are exact
 * everywhere. Which moment is the greatest follows from the burner's construction and is argued in each burner.
 *
 * `uncertainty`: a sum's true maximum lies in [value, value + uncertainty]: 256 KiB for each process, for pages of libc
 * and of the stack first touched outside the reading (a file's page brings up to 15 neighbours: fault-around; the
 * loader maps and unmaps its cache). Not covered: reclaim (a page swapped out before the peak leaves rss, not
 * rss_swap_sum; a dropped page of the executable leaves both), seen only on a machine short of memory.
 * `hwm` is the kernel's and only told: even on 6.18 it follows a counter batched per CPU, and was seen 140 KiB below
 * the pages that had been resident.
 * `cpu_s` is of the moment of writing: tearing down the memory at exit (some 0.1 ms for each MiB) comes after it. */
#ifndef TRUTH_H
#define TRUTH_H

#include "burner.h"
#include "options.h"

enum { LISTED_PROCESSES = 128, TOUCHED_LATER = 256 * 1024 };

struct process {
  pid_t pid;
  const char *role;
  bool walked;
  long long rss, hwm, vmsize, vmpeak, swap, anon, file, shmem, footprint; /* bytes; footprint -1: unknown */
};

static struct {
  const char *file;
  const char *burner;
  bool walked, footprint_known;
  long long rss_sum, vmem_sum, process_vmem, rss_swap_sum, footprint, anon, shmem, pid_rss_sum, uncertainty;
  double peak_at;
  int children; /* processes the burner started, short-lived ones included */
  int listed;
  struct process at_peak[LISTED_PROCESSES];
  char extra[512];
  char line[LISTED_PROCESSES * 320];
  char text[32 * 1024];
} truth;

static inline bool slurp(const char *path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  size_t used = 0;
  ssize_t got;
  while ((got = read(fd, truth.text + used, sizeof truth.text - 1 - used)) > 0) used += (size_t)got;
  close(fd);
  truth.text[used] = '\0';
  return used > 0;
}

/* The bytes of "\nKEY:   123 kB" in the text read last, else -1. */
static inline long long kb_line(const char *key) {
  char sought[40];
  snprintf(sought, sizeof sought, "\n%s:", key);
  const char *at = strstr(truth.text, sought);
  return at == NULL ? -1 : strtoll(at + strlen(sought), NULL, 10) * 1024;
}

/* One process at rest. pid 0: this one (read through the calling thread: a leader that has exited has no Vm lines). */
static inline struct process read_process(pid_t pid, const char *role) {
  char path[64], base[32];
  if (pid == 0) snprintf(base, sizeof base, "/proc/thread-self");
  else snprintf(base, sizeof base, "/proc/%d", (int)pid);
  snprintf(path, sizeof path, "%s/status", base);
  if (!slurp(path) || kb_line("VmRSS") < 0) die(path);
  struct process it = {.pid = pid == 0 ? getpid() : pid, .role = role, .footprint = -1};
  it.rss = kb_line("VmRSS");
  it.hwm = kb_line("VmHWM");
  it.vmsize = kb_line("VmSize");
  it.vmpeak = kb_line("VmPeak");
  it.swap = kb_line("VmSwap") < 0 ? 0 : kb_line("VmSwap");
  it.anon = kb_line("RssAnon");
  it.file = kb_line("RssFile");
  it.shmem = kb_line("RssShmem");
  snprintf(path, sizeof path, "%s/smaps_rollup", base);
  if (slurp(path) && kb_line("Rss") >= 0) {
    it.walked = true;
    it.rss = kb_line("Rss");
    it.swap = kb_line("Swap");
    if (kb_line("Pss_Anon") >= 0) it.footprint = kb_line("Pss_Anon") + kb_line("Pss_Shmem") + kb_line("SwapPss");
  }
  return it;
}

static inline long long at_least(long long a, long long b) {
  return a > b ? a : b;
}

/* Takes one moment at which exactly these processes counted; the truth is the greatest moment, quantity by quantity. */
static inline void truth_moment(const struct process *processes, int count) {
  long long rss = 0, vmem = 0, swap = 0, footprint = 0, anon = 0, shmem = 0;
  truth.walked = truth.footprint_known = true;
  for (int i = 0; i < count; i++) {
    rss += processes[i].rss;
    vmem += count == 1 ? processes[i].vmpeak : processes[i].vmsize; /* alone: exact, whenever it was */
    swap += processes[i].swap;
    footprint += processes[i].footprint;
    anon += processes[i].anon;
    shmem += processes[i].shmem;
    truth.walked = truth.walked && processes[i].walked;
    truth.footprint_known = truth.footprint_known && processes[i].footprint >= 0;
    truth.process_vmem = at_least(truth.process_vmem, processes[i].vmpeak);
  }
  if (rss > truth.rss_sum) {
    truth.rss_sum = rss;
    truth.anon = anon;
    truth.shmem = shmem;
    truth.peak_at = clock_ms(CLOCK_REALTIME);
    truth.uncertainty = (long long)count * TOUCHED_LATER;
    truth.listed = count < LISTED_PROCESSES ? count : LISTED_PROCESSES;
    memcpy(truth.at_peak, processes, (size_t)truth.listed * sizeof *processes);
  }
  truth.pid_rss_sum = at_least(truth.pid_rss_sum, rss);
  truth.vmem_sum = at_least(truth.vmem_sum, vmem);
  truth.rss_swap_sum = at_least(truth.rss_swap_sum, rss + swap);
  truth.footprint = at_least(truth.footprint, footprint);
}

/* What a count of every pid would come to at worst, where that differs: images between fork and exec, vfork children.
 * At least about this: such an image brings back file pages, which fork does not copy, as it needs them. */
static inline void truth_pid_rss(long long bytes) {
  truth.pid_rss_sum = at_least(truth.pid_rss_sum, bytes);
}

static inline void truth_number(const char *name, double value) {
  const size_t used = strlen(truth.extra);
  snprintf(truth.extra + used, sizeof truth.extra - used, ",\"%s\":%.15g", name, value);
}

static inline double cpu_seconds(void) {
  double seconds = 0;
  const int whose[] = {RUSAGE_SELF, RUSAGE_CHILDREN};
  for (int i = 0; i < 2; i++) {
    struct rusage usage;
    if (getrusage(whose[i], &usage) != 0) die("getrusage");
    seconds += (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec);
    seconds += (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
  }
  return seconds;
}

static inline size_t truth_line(void) {
  char *line = truth.line;
  const size_t room = sizeof truth.line;
  size_t used = (size_t)snprintf(
      line, room,
      "{\"burner\":\"%s\",\"rss_sum\":%lld,\"vmem_sum\":%lld,\"process_vmem\":%lld,\"rss_swap_sum\":%lld,"
      "\"footprint\":%lld,\"anon\":%lld,\"shmem\":%lld,\"pid_rss_sum\":%lld,\"uncertainty\":%lld,\"walked\":%s,"
      "\"peak_at_ms\":%.3f,\"cpu_s\":%.6f,\"children\":%d,\"extra\":{%s},\"processes\":[",
      truth.burner, truth.rss_sum, truth.vmem_sum, truth.process_vmem, truth.rss_swap_sum,
      truth.footprint_known ? truth.footprint : -1, truth.anon, truth.shmem, truth.pid_rss_sum, truth.uncertainty,
      truth.walked ? "true" : "false", truth.peak_at, cpu_seconds(), truth.children,
      truth.extra[0] == ',' ? truth.extra + 1 : "");
  for (int i = 0; i < truth.listed; i++) {
    const struct process *it = &truth.at_peak[i];
    used += (size_t)snprintf(line + used, room - used,
                             "%s{\"pid\":%d,\"role\":\"%s\",\"rss\":%lld,\"hwm\":%lld,\"vmsize\":%lld,\"vmpeak\":%lld,"
                             "\"swap\":%lld,\"anon\":%lld,\"file\":%lld,\"shmem\":%lld,\"footprint\":%lld}",
                             i == 0 ? "" : ",", (int)it->pid, it->role, it->rss, it->hwm, it->vmsize, it->vmpeak,
                             it->swap, it->anon, it->file, it->shmem, it->footprint);
  }
  used += (size_t)snprintf(line + used, room - used, "]}\n");
  return used;
}

/* Called first in main, before anything is measured: parses --truth, and rehearses reading and writing, so that doing
 * it at the peak touches no page for the first time. */
static inline void truth_begin(const char *burner, int argc, char **argv) {
  options_begin(argc, argv);
  truth.burner = burner;
  truth.file = text_option("truth", "");
  touch(truth.line, 0, sizeof truth.line);
  touch(truth.text, 0, sizeof truth.text);
  touch(truth.at_peak, 0, sizeof truth.at_peak);
  memset(truth.line, 0, sizeof truth.line);
  (void)read_process(0, "rehearsal");
  (void)truth_line();
}

/* Appends the line with one write, so that burners may share a file. */
static inline void truth_write(void) {
  if (truth.file[0] == '\0') return;
  const int fd = open(truth.file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) die(truth.file);
  const size_t length = truth_line();
  if (write(fd, truth.line, length) != (ssize_t)length) die(truth.file);
  close(fd);
}

#endif

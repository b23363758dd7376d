/* The tests' independent watcher: runs a command, sweeps its whole process tree every few ms, and prints one line of
 * JSON. It shares no code with the burners' own readings.
 *   watch SECONDS COMMAND [ARGUMENT...]     (kills everything after SECONDS)
 * A sum takes the smaller of two readings of each process, one sweep right after the other: what is summed was
 * all there between the two. "all" counts every pid; "execed" leaves out images between fork and exec (PF_FORKNOEXEC),
 * vfork children included. maxrss, cpu_s and blocks are wait4's: the kernel's own, exact for the largest single process.
 * The tree is found by parent pids over all of /proc; orphans come to this process (PR_SET_CHILD_SUBREAPER). */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MEMBERS = 256, PROCESSES = 4096, FORKNOEXEC = 0x40, PIDS = 4194304, PAUSE_NS = 4000000 };

struct member {
  int pid;
  bool execed;
  long long rss, vmsize;
};

struct totals {
  long long rss, vmsize;
};

static struct {
  struct totals all, execed;
  long long hwm, vmpeak;
  long sweeps;
  double longest_gap_ms;
} seen;

static long long larger(long long a, long long b) {
  return a > b ? a : b;
}

static long long smaller(long long a, long long b) {
  return a < b ? a : b;
}

static double larger_ms(double a, double b) {
  return a > b ? a : b;
}

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static bool read_text(char *text, size_t room, const char *path) {
  FILE *file = fopen(path, "re");
  if (file == NULL) return false;
  const size_t got = fread(text, 1, room - 1, file);
  text[got] = '\0';
  fclose(file);
  return got > 0;
}

static long long kb(const char *text, const char *key) {
  const char *at = strstr(text, key);
  return at == NULL ? -1 : strtoll(at + strlen(key), NULL, 10) * 1024;
}

static bool parse_status(const char *path, struct member *it) {
  char text[8192];
  if (!read_text(text, sizeof text, path) || kb(text, "\nVmRSS:") < 0) return false;
  it->rss = kb(text, "\nVmRSS:");
  it->vmsize = kb(text, "\nVmSize:");
  seen.hwm = larger(seen.hwm, kb(text, "\nVmHWM:"));
  seen.vmpeak = larger(seen.vmpeak, kb(text, "\nVmPeak:"));
  return true;
}

/* From the status of any thread where the leader has exited. */
static bool read_memory(struct member *it) {
  char path[300];
  snprintf(path, sizeof path, "/proc/%d/status", it->pid);
  if (parse_status(path, it)) return true;
  snprintf(path, sizeof path, "/proc/%d/task", it->pid);
  DIR *tasks = opendir(path);
  if (tasks == NULL) return false;
  bool found = false;
  for (struct dirent *task; !found && (task = readdir(tasks)) != NULL;) {
    if (task->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "/proc/%d/task/%.20s/status", it->pid, task->d_name);
    found = parse_status(path, it);
  }
  closedir(tasks);
  return found;
}

/* By pid: the last search that found there a process which is no descendant of this one. As long as every search lists
 * that pid it is the same process, and need not be read again. Allocated after the fork, to keep the child small. */
static unsigned *stranger_at;
static unsigned searches = 1;

static bool is_stranger(int pid) {
  return pid <= 1 || stranger_at[pid] == searches;
}

/* The descendants of this process, itself left out. */
static int find_members(struct member *members) {
  searches++;
  static struct {
    int pid, parent;
    unsigned long flags;
    bool ours;
  } all[PROCESSES];
  int count = 0, found = 0;
  DIR *proc = opendir("/proc");
  if (proc == NULL) return 0;
  for (struct dirent *entry; (entry = readdir(proc)) != NULL && count < PROCESSES;) {
    char path[64], text[1024];
    const int pid = atoi(entry->d_name);
    if (pid <= 0 || pid >= PIDS) continue;
    if (stranger_at[pid] == searches - 1) {
      stranger_at[pid] = searches;
      continue;
    }
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    if (!read_text(text, sizeof text, path)) continue;
    const char *rest = strrchr(text, ')');
    unsigned flags;
    int parent;
    if (rest == NULL || sscanf(rest + 2, "%*c %d %*d %*d %*d %*d %u", &parent, &flags) != 2) continue;
    all[count].pid = pid;
    all[count].parent = parent;
    all[count].flags = flags;
    all[count++].ours = false;
  }
  closedir(proc);
  for (bool grew = true; grew;) {
    grew = false;
    for (int i = 0; i < count; i++) {
      if (all[i].ours) continue;
      bool ours = all[i].parent == getpid();
      for (int j = 0; j < count && !ours; j++) ours = all[j].ours && all[j].pid == all[i].parent;
      if (!ours) continue;
      all[i].ours = grew = true;
      if (found < MEMBERS)
        members[found++] = (struct member){.pid = all[i].pid, .execed = (all[i].flags & FORKNOEXEC) == 0};
    }
  }
  /* Only children of strangers: one whose parent was not found may be an orphan of ours. */
  for (bool grew = true; grew;) {
    grew = false;
    for (int i = 0; i < count; i++) {
      if (all[i].ours || is_stranger(all[i].pid) || !is_stranger(all[i].parent)) continue;
      stranger_at[all[i].pid] = searches;
      grew = true;
    }
  }
  return found;
}

static void sweep(void) {
  static struct member members[MEMBERS];
  const int count = find_members(members);
  for (int i = 0; i < count; i++)
    if (!read_memory(&members[i])) members[i].rss = members[i].vmsize = 0;
  struct totals all = {0, 0}, execed = {0, 0};
  for (int i = 0; i < count; i++) {
    struct member again = members[i];
    if (!read_memory(&again)) again.rss = again.vmsize = 0;
    const long long rss = smaller(members[i].rss, again.rss), vmsize = smaller(members[i].vmsize, again.vmsize);
    all.rss += rss;
    all.vmsize += vmsize;
    if (members[i].execed) {
      execed.rss += rss;
      execed.vmsize += vmsize;
    }
  }
  seen.all.rss = larger(seen.all.rss, all.rss);
  seen.all.vmsize = larger(seen.all.vmsize, all.vmsize);
  seen.execed.rss = larger(seen.execed.rss, execed.rss);
  seen.execed.vmsize = larger(seen.execed.vmsize, execed.vmsize);
  seen.sweeps++;
}

static void kill_all(void) {
  static struct member members[MEMBERS];
  const int count = find_members(members);
  for (int i = 0; i < count; i++) kill(members[i].pid, SIGKILL);
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  const double deadline = now_ms() + strtod(argv[1], NULL) * 1e3;
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t command = fork();
  if (command == 0) {
    execv(argv[2], argv + 2);
    _exit(127);
  }
  stranger_at = calloc(PIDS, sizeof *stranger_at);
  if (stranger_at == NULL) return 2;
  /* Runs before the processes that it watches, where this user may raise the priority. */
  (void)setpriority(PRIO_PROCESS, 0, -15);
  int status = -1, orphans = 0;
  double cpu_s = 0, last = now_ms();
  long long maxrss = 0;
  long inblock = 0, oublock = 0;
  bool late = false;
  for (;;) {
    int ended_status;
    struct rusage usage;
    const pid_t ended = wait4(-1, &ended_status, WNOHANG, &usage);
    if (ended < 0 && errno == ECHILD) break;
    if (ended > 0) {
      /* What happened since the last sweep was not seen. */
      seen.longest_gap_ms = larger_ms(seen.longest_gap_ms, now_ms() - last);
      if (ended == command) status = ended_status;
      else orphans++;
      maxrss = larger(maxrss, usage.ru_maxrss * 1024LL);
      inblock += usage.ru_inblock;
      oublock += usage.ru_oublock;
      cpu_s += (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec);
      cpu_s += (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
      continue;
    }
    if (now_ms() > deadline) {
      late = true;
      kill_all();
    }
    sweep();
    const double now = now_ms();
    seen.longest_gap_ms = larger_ms(seen.longest_gap_ms, now - last);
    last = now;
    const struct timespec pause = {0, PAUSE_NS};
    nanosleep(&pause, NULL);
  }
  printf("{\"status\":%d,\"late\":%s,\"orphans\":%d,\"sweeps\":%ld,\"longest_gap_ms\":%.3f,\"all_rss\":%lld,"
         "\"all_vmsize\":%lld,\"execed_rss\":%lld,\"execed_vmsize\":%lld,\"hwm\":%lld,\"vmpeak\":%lld,\"maxrss\":%lld,"
         "\"cpu_s\":%.6f,\"inblock\":%ld,\"oublock\":%ld}\n",
         status, late ? "true" : "false", orphans, seen.sweeps, seen.longest_gap_ms, seen.all.rss, seen.all.vmsize,
         seen.execed.rss, seen.execed.vmsize, seen.hwm, seen.vmpeak, maxrss, cpu_s, inblock, oublock);
  return 0;
}

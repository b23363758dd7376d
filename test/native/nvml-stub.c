/*
 * A stand-in for libnvidia-ml.so.1. Its state is the text file `state` beside it, read anew at every call:
 *
 *   init CODE                 what nvmlInit answers
 *   count N                   devices; N.key describes device N, N/M.key its MIG instance M
 *   0.uuid                    text
 *   0.memory TOTAL RESERVED FREE USED
 *   0.rates GPU MEMORY, 0.power, 0.energy, 0.temperature
 *   0.compute, 0.graphics, 0.mps        "PID:BYTES PID:BYTES ..." (BYTES "-": not available)
 *   0.samples                 "PID:MICROSECONDS:PERCENT ..."
 *   0.accounting 1, 0.accounted         "PID:PERCENT:BYTES:RUNNING ..."
 *   0.mig 1, 0.migs N         instances without a uuid don't exist
 *   0.error CODE              what every call on device 0 answers
 *   0.FUNCTION.error CODE     what that function answers for it
 *
 * What isn't written is NVML_ERROR_NOT_SUPPORTED. -DOLD_DRIVER leaves out what came after about 2016;
 * -DWIDE_PROCESSES gives process entries the 32 bytes of the drivers 535.43 to 535.98.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS, UNINITIALIZED, INVALID_ARGUMENT, NOT_SUPPORTED, NO_PERMISSION, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7 };

static int initialised;

/* A handle is (device + 1) * 256 + MIG instance + 1, or + 0 for the device itself. */
static void prefix_of(uint64_t handle, char *prefix, size_t size) {
  unsigned device = (unsigned)(handle / 256) - 1, mig = (unsigned)(handle % 256);
  if (mig == 0) snprintf(prefix, size, "%u", device);
  else snprintf(prefix, size, "%u/%u", device, mig - 1);
}

static FILE *open_state(void) {
  char path[PATH_MAX];
  Dl_info own;
  if (!dladdr(&initialised, &own)) return NULL;
  const char *slash = strrchr(own.dli_fname, '/');
  snprintf(path, sizeof path, "%.*s/state", slash ? (int)(slash - own.dli_fname) : 0, own.dli_fname);
  return fopen(path, "r");
}

/* The rest of the line that begins with that key; NULL: there is none. The caller frees it. */
static char *state(const char *key) {
  FILE *file = open_state();
  char *line = NULL, *found = NULL;
  size_t room = 0, length = strlen(key);
  if (!file) return NULL;
  while (!found && getline(&line, &room, file) > 0) {
    line[strcspn(line, "\n")] = 0;
    if (strncmp(line, key, length) == 0 && line[length] == ' ') found = strdup(line + length + 1);
  }
  free(line);
  fclose(file);
  return found;
}

static char *of_device(uint64_t handle, const char *key) {
  char prefix[32], whole[128];
  prefix_of(handle, prefix, sizeof prefix);
  snprintf(whole, sizeof whole, "%s.%s", prefix, key);
  return state(whole);
}

static int number(char *text, int otherwise) {
  int value = text ? atoi(text) : otherwise;
  free(text);
  return value;
}

/* What this call on this device is to answer, before it does anything. */
static int verdict(uint64_t handle, const char *function) {
  char key[128];
  int code;
  if (initialised <= 0) return UNINITIALIZED;
  if ((code = number(of_device(handle, "error"), 0))) return code;
  snprintf(key, sizeof key, "%s.error", function);
  return number(of_device(handle, key), 0);
}

#define CHECK(device) \
  do { \
    int verdict_ = verdict(device, __func__); \
    if (verdict_) return verdict_; \
  } while (0)

static int text_of(uint64_t device, const char *key, char *to, unsigned length) {
  char *text = of_device(device, key);
  if (!text) return NOT_SUPPORTED;
  if (strlen(text) >= length) {
    free(text);
    return INSUFFICIENT_SIZE;
  }
  strcpy(to, text);
  free(text);
  return SUCCESS;
}

static int integer_of(uint64_t device, const char *key, unsigned *to) {
  char *text = of_device(device, key);
  if (!text) return NOT_SUPPORTED;
  *to = (unsigned)strtoul(text, NULL, 10);
  free(text);
  return SUCCESS;
}

int nvmlInit_v2(void) {
  int code = number(state("init"), 0);
  if (!code) initialised++;
  return code;
}

int nvmlShutdown(void) {
  if (initialised <= 0) return UNINITIALIZED;
  initialised--;
  return SUCCESS;
}

/* For the tests: how often it was initialised and not shut down. */
int nvmlStubOpen(void) { return initialised; }

const char *nvmlErrorString(int code) {
  switch (code) {
    case SUCCESS: return "Success";
    case UNINITIALIZED: return "Uninitialized";
    case NOT_SUPPORTED: return "Not Supported";
    case NO_PERMISSION: return "Insufficient Permissions";
    case NOT_FOUND: return "Not Found";
    case INSUFFICIENT_SIZE: return "Insufficient Size";
    case 9: return "Driver Not Loaded";
    case 15: return "GPU is lost";
    case 18: return "Driver/library version mismatch";
    default: return "Unknown Error";
  }
}

int nvmlDeviceGetCount_v2(unsigned *count) {
  if (initialised <= 0) return UNINITIALIZED;
  *count = (unsigned)number(state("count"), 0);
  return SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, uint64_t *device) {
  if (initialised <= 0) return UNINITIALIZED;
  if ((int)index >= number(state("count"), 0)) return INVALID_ARGUMENT;
  *device = (index + 1) * 256ull;
  CHECK(*device);
  return SUCCESS;
}

int nvmlDeviceGetUUID(uint64_t device, char *to, unsigned length) {
  CHECK(device);
  return text_of(device, "uuid", to, length);
}

int nvmlDeviceGetIndex(uint64_t device, unsigned *index) {
  CHECK(device);
  *index = (unsigned)(device / 256) - 1;
  return SUCCESS;
}

static int memory_of(uint64_t device, unsigned long long *four) {
  char *text = of_device(device, "memory");
  int read = text ? sscanf(text, "%llu %llu %llu %llu", four, four + 1, four + 2, four + 3) : 0;
  free(text);
  return read == 4 ? SUCCESS : NOT_SUPPORTED;
}

int nvmlDeviceGetMemoryInfo(uint64_t device, unsigned long long *to) {
  unsigned long long four[4];
  CHECK(device);
  int code = memory_of(device, four);
  if (code) return code;
  to[0] = four[0];
  to[1] = four[2];
  to[2] = four[1] + four[3];
  return SUCCESS;
}

int nvmlDeviceGetUtilizationRates(uint64_t device, unsigned *rates) {
  CHECK(device);
  char *text = of_device(device, "rates");
  int read = text ? sscanf(text, "%u %u", rates, rates + 1) : 0;
  free(text);
  return read == 2 ? SUCCESS : NOT_SUPPORTED;
}

int nvmlDeviceGetPowerUsage(uint64_t device, unsigned *milliwatts) {
  CHECK(device);
  return integer_of(device, "power", milliwatts);
}

int nvmlDeviceGetTemperature(uint64_t device, int sensor, unsigned *celsius) {
  CHECK(device);
  return sensor == 0 ? integer_of(device, "temperature", celsius) : INVALID_ARGUMENT;
}

/* Calls use for each word of a list; counts them. */
static unsigned each(char *list, unsigned room, void *to, void (*use)(void *to, unsigned at, const char *word)) {
  unsigned at = 0;
  for (char *rest = list, *word; (word = strtok_r(rest, " ", &rest)); at++)
    if (at < room && to) use(to, at, word);
  free(list);
  return at;
}

static int answer_list(unsigned *count, unsigned found) {
  unsigned room = *count;
  *count = found;
  return found > room ? INSUFFICIENT_SIZE : SUCCESS;
}

static unsigned long long bytes_of(const char *word) {
  const char *colon = strchr(word, ':');
  return !colon || colon[1] == '-' ? ~0ull : strtoull(colon + 1, NULL, 10);
}

struct process_v1 { unsigned pid; unsigned long long bytes; };
struct process_v2 { unsigned pid; unsigned long long bytes; unsigned gpu_instance, compute_instance; };
struct process_wide { struct process_v2 plain; unsigned long long protected_bytes; };

static void use_v1(void *to, unsigned at, const char *word) {
  ((struct process_v1 *)to)[at] = (struct process_v1){(unsigned)atoi(word), bytes_of(word)};
}

static int processes_v1(uint64_t device, const char *key, unsigned *count, void *to) {
  char *list = of_device(device, key);
  if (!list) return *count = 0, SUCCESS;
  return answer_list(count, each(list, *count, to, use_v1));
}

int nvmlDeviceGetComputeRunningProcesses(uint64_t device, unsigned *count, void *to) {
  CHECK(device);
  return processes_v1(device, "compute", count, to);
}

int nvmlDeviceGetGraphicsRunningProcesses(uint64_t device, unsigned *count, void *to) {
  CHECK(device);
  return processes_v1(device, "graphics", count, to);
}

int nvmlDeviceGetAccountingMode(uint64_t device, unsigned *mode) {
  CHECK(device);
  return integer_of(device, "accounting", mode);
}

static void use_pid(void *to, unsigned at, const char *word) { ((unsigned *)to)[at] = (unsigned)atoi(word); }

int nvmlDeviceGetAccountingPids(uint64_t device, unsigned *count, unsigned *pids) {
  CHECK(device);
  char *list = of_device(device, "accounted");
  if (!list) return *count = 0, SUCCESS;
  return answer_list(count, each(list, *count, pids, use_pid));
}

struct accounting {
  unsigned percent, memory_percent;
  unsigned long long bytes, ms, start;
  unsigned running, reserved[5];
};

int nvmlDeviceGetAccountingStats(uint64_t device, unsigned pid, struct accounting *stats) {
  CHECK(device);
  char *list = of_device(device, "accounted");
  int found = 0;
  if (!list) return NOT_FOUND;
  for (char *rest = list, *word; !found && (word = strtok_r(rest, " ", &rest));) {
    unsigned one, percent, running;
    char bytes[32];
    if (sscanf(word, "%u:%u:%31[^:]:%u", &one, &percent, bytes, &running) != 4 || one != pid) continue;
    memset(stats, 0, sizeof *stats);
    stats->percent = percent;
    stats->memory_percent = ~0u;
    stats->bytes = bytes[0] == '-' ? ~0ull : strtoull(bytes, NULL, 10);
    stats->ms = running ? 0 : 5000;
    stats->running = running;
    found = 1;
  }
  free(list);
  return found ? SUCCESS : NOT_FOUND;
}

#ifndef OLD_DRIVER

struct memory_v2 { unsigned version; unsigned long long total, reserved, free, used; };

int nvmlDeviceGetMemoryInfo_v2(uint64_t device, struct memory_v2 *to) {
  unsigned long long four[4];
  CHECK(device);
  if (to->version != (sizeof *to | 2u << 24)) return INVALID_ARGUMENT;
  int code = memory_of(device, four);
  if (code) return code;
  to->total = four[0];
  to->reserved = four[1];
  to->free = four[2];
  to->used = four[3];
  return SUCCESS;
}

int nvmlDeviceGetTotalEnergyConsumption(uint64_t device, unsigned long long *millijoules) {
  CHECK(device);
  char *text = of_device(device, "energy");
  if (!text) return NOT_SUPPORTED;
  *millijoules = strtoull(text, NULL, 10);
  free(text);
  return SUCCESS;
}

static void use_v2(void *to, unsigned at, const char *word) {
  ((struct process_v2 *)to)[at] = (struct process_v2){(unsigned)atoi(word), bytes_of(word), ~0u, ~0u};
}

#ifdef WIDE_PROCESSES
static void use_v3(void *to, unsigned at, const char *word) {
  struct process_wide *entry = (struct process_wide *)to + at;
  use_v2(&entry->plain, 0, word);
  entry->protected_bytes = 0;
}
#else
#define use_v3 use_v2
#endif

static int processes(uint64_t device, const char *key, unsigned *count, void *to,
                     void (*use)(void *, unsigned, const char *)) {
  char *list = of_device(device, key);
  if (!list) return *count = 0, SUCCESS;
  return answer_list(count, each(list, *count, to, use));
}

#define LISTS(Kind, key) \
  int nvmlDeviceGet##Kind##RunningProcesses_v2(uint64_t device, unsigned *count, void *to) { \
    CHECK(device); \
    return processes(device, key, count, to, use_v2); \
  } \
  int nvmlDeviceGet##Kind##RunningProcesses_v3(uint64_t device, unsigned *count, void *to) { \
    CHECK(device); \
    return processes(device, key, count, to, use_v3); \
  }

LISTS(Compute, "compute")
LISTS(Graphics, "graphics")
LISTS(MPSCompute, "mps")

struct sample {
  unsigned pid;
  unsigned long long timestamp;
  unsigned sm, memory, encoder, decoder;
};

static unsigned long long sample_time(const char *word) { return bytes_of(word); }

static void use_sample(void *to, unsigned at, const char *word) {
  const char *percent = strrchr(word, ':');
  ((struct sample *)to)[at] =
      (struct sample){(unsigned)atoi(word), sample_time(word), (unsigned)atoi(percent + 1), 0, 0, 0};
}

int nvmlDeviceGetProcessUtilization(uint64_t device, struct sample *to, unsigned *count, unsigned long long since) {
  CHECK(device);
  char *list = of_device(device, "samples"), newer[65536] = "";
  if (!list) return NOT_SUPPORTED;
  for (char *rest = list, *word; (word = strtok_r(rest, " ", &rest));)
    if (sample_time(word) > since) strcat(strcat(newer, word), " ");
  free(list);
  if (!newer[0]) return NOT_FOUND;
  return answer_list(count, each(strdup(newer), *count, to, use_sample));
}

int nvmlDeviceGetMigMode(uint64_t device, unsigned *current, unsigned *pending) {
  CHECK(device);
  *pending = 0;
  return integer_of(device, "mig", current);
}

int nvmlDeviceGetMaxMigDeviceCount(uint64_t device, unsigned *count) {
  CHECK(device);
  return integer_of(device, "migs", count);
}

int nvmlDeviceGetMigDeviceHandleByIndex(uint64_t device, unsigned index, uint64_t *mig) {
  CHECK(device);
  uint64_t handle = device + index + 1;
  char *uuid = of_device(handle, "uuid");
  if (!uuid) return NOT_FOUND;
  free(uuid);
  *mig = handle;
  return SUCCESS;
}

struct attributes { unsigned counts[8]; unsigned long long mebibytes; };

int nvmlDeviceGetAttributes_v2(uint64_t device, struct attributes *to) {
  unsigned mebibytes = 0;
  CHECK(device);
  int code = integer_of(device, "mebibytes", &mebibytes);
  memset(to, 0, sizeof *to);
  to->mebibytes = mebibytes;
  return code;
}

#endif

/* Makes events that the kernel counts: page faults, context switches, migrations, CPU time; in `children` forks, one
 * after the other (0: in this process), each of which makes all of them. Start and end add some hundred faults and
 * a few switches. A migration is a switch, too. */
#include "burner.h"
#include "options.h"

#include <sched.h>

/* The first two CPUs that this process may use; the same one twice where it has no other. */
static void two_cpus(int cpus[2]) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) die("sched_getaffinity");
  int found = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++)
    if (CPU_ISSET(cpu, &allowed)) cpus[found++] = cpu;
  if (found == 1) cpus[1] = cpus[0];
}

static void migrate(long times) {
  int cpus[2];
  two_cpus(cpus);
  for (long i = 0; i < times; i++) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpus[i % 2], &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0) die("sched_setaffinity");
  }
}

static void burn(double ms) {
  const double start = clock_ms(CLOCK_PROCESS_CPUTIME_ID);
  volatile unsigned long sink = 0;
  while (clock_ms(CLOCK_PROCESS_CPUTIME_ID) - start < ms)
    for (int i = 0; i < 20000; i++) sink = sink * 31 + (unsigned long)i;
}

int main(int argc, char **argv) {
  options_begin(argc, argv);
  const size_t faults = (size_t)number_option("faults", "0");
  const long switches = (long)number_option("switches", "0");
  const long migrations = (long)number_option("migrations", "0");
  const double seconds = number_option("seconds", "0");
  const int children = (int)number_option("children", "0");
  options_end();

  for (int i = 0; i < children || (i == 0 && children == 0); i++) {
    const pid_t pid = children == 0 ? 0 : fork();
    if (pid < 0) die("fork");
    if (pid > 0) {
      if (waitpid(pid, NULL, 0) != pid) die("waitpid");
      continue;
    }
    const size_t bytes = faults * page_bytes();
    touch(map(bytes), 0, bytes);
    for (long j = 0; j < switches; j++) sleep_ms(0.01);
    migrate(migrations);
    burn(seconds * 1e3);
    if (children > 0) _exit(0);
  }
  return 0;
}

/* A tree of processes, `depth` generations below the first, `fanout` children each. Every process takes N MiB and then
 * has its children. --execs=0: they stay copies, each with all that its ancestors had taken when it was forked.
 * Truth: the first process reads all of them together, when the last one is at rest; none releases memory before that.
 * Copies between fork and exec did not count. */
#include "truth.h"
#include "children.h"

static struct {
  size_t bytes;
  int fanout;
  bool execs;
} plan;

static _Noreturn void be_node(int fd, int generations);

static struct child start_node(int generations) {
  const struct child child = fork_child();
  if (child.pid != 0) return child;
  if (!plan.execs) be_node(child.fd, generations);
  static struct holder_argv it;
  static char flag[] = "--node", shape[64];
  char *arguments[6];
  holder_argv(&it, child.fd, plan.bytes);
  snprintf(shape, sizeof shape, "%d.%d", generations, plan.fanout);
  arguments[0] = it.path;
  arguments[1] = flag;
  arguments[2] = it.fd;
  arguments[3] = it.bytes;
  arguments[4] = shape;
  arguments[5] = NULL;
  execv(it.path, arguments);
  _exit(127);
}

/* Returns when all below are at rest. */
static void grow(struct child *children, int generations) {
  touch(map(plan.bytes), 0, plan.bytes);
  if (generations == 0) return;
  for (int i = 0; i < plan.fanout; i++) children[i] = start_node(generations - 1);
  for (int i = 0; i < plan.fanout; i++) hear(children[i], 'r');
}

static void fell(const struct child *children, int generations) {
  for (int i = 0; generations > 0 && i < plan.fanout; i++) dismiss(children[i]);
}

static _Noreturn void be_node(int fd, int generations) {
  static struct child children[LISTED_PROCESSES];
  grow(children, generations);
  char order = 'r';
  if (send(fd, &order, 1, MSG_NOSIGNAL) != 1 || read(fd, &order, 1) != 1) _exit(1);
  fell(children, generations);
  _exit(0);
}

static int list_below(pid_t pid, struct process *all, int count) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
  if (!slurp(path)) return count;
  pid_t below[LISTED_PROCESSES];
  int found = 0;
  for (char *at = truth.text, *end; found < LISTED_PROCESSES; at = end) {
    below[found] = (pid_t)strtol(at, &end, 10);
    if (end == at) break;
    found++;
  }
  for (int i = 0; i < found && count < LISTED_PROCESSES; i++) {
    all[count++] = read_process(below[i], "node");
    count = list_below(below[i], all, count);
  }
  return count;
}

static int nodes(int generations) {
  int count = 1;
  for (int i = 0, width = 1; i < generations; i++) count += width *= plan.fanout;
  return count;
}

int main(int argc, char **argv) {
  if (argc == 5 && strcmp(argv[1], "--node") == 0) {
    int generations = 0;
    if (sscanf(argv[4], "%d.%d", &generations, &plan.fanout) != 2) return 2;
    plan.bytes = (size_t)strtoull(argv[3], NULL, 10);
    plan.execs = true;
    be_node(atoi(argv[2]), generations);
  }
  truth_begin("fork-tree", argc, argv);
  const int depth = (int)number_option("depth", "2");
  plan.fanout = (int)number_option("fanout", "3");
  plan.bytes = mib_option("mib", "8");
  const double hold_ms = number_option("hold", "100");
  plan.execs = number_option("execs", "1") > 0;
  options_end();
  if (plan.fanout < 1 || nodes(depth) > LISTED_PROCESSES) die("--depth, --fanout");

  static struct child children[LISTED_PROCESSES];
  static struct process all[LISTED_PROCESSES];
  touch(all, 0, sizeof all);
  grow(children, depth);
  sleep_ms(hold_ms);
  all[0] = read_process(0, "first");
  const int count = list_below(getpid(), all, 1);
  if (count != nodes(depth)) die("not all processes of the tree were found");
  truth_moment(all, count);
  fell(children, depth);
  truth.children = count - 1;
  truth_write();
  return 0;
}

/* A compiled part that claims a Node version that never existed, as one that was built for another Node. */
#include <stddef.h>

struct node_module {
  int version;
  unsigned flags;
  void *handle;
  const char *file;
  void (*initialise)(void);
  void (*initialise_context)(void);
  const char *name;
  void *data;
  struct node_module *next;
};

extern void node_module_register(void *module);

static void initialise(void) {}

static struct node_module module = {
    .version = 1, .file = "other-node.c", .initialise = initialise, .name = "better_sqlite3"};

__attribute__((constructor)) static void announce(void) { node_module_register(&module); }

/* --name=value arguments. An option that the burner lacks ends it with status 2 and the list of those it has. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "burner.h"

static struct {
  int count;
  char **arguments;
  char known[512];
} options;

static inline void options_begin(int argc, char **argv) {
  options.count = argc;
  options.arguments = argv;
}

static inline const char *text_option(const char *name, const char *fallback) {
  const size_t used = strlen(options.known);
  snprintf(options.known + used, sizeof options.known - used, " --%s=%s", name, fallback);
  const size_t length = strlen(name);
  const char *value = fallback;
  for (int i = 1; i < options.count; i++) {
    const char *argument = options.arguments[i];
    if (strncmp(argument, "--", 2) == 0 && strncmp(argument + 2, name, length) == 0 && argument[2 + length] == '=')
      value = argument + 3 + length;
  }
  return value;
}

static inline double number_option(const char *name, const char *fallback) {
  const char *text = text_option(name, fallback);
  char *end;
  const double value = strtod(text, &end);
  if (end == text || *end != '\0' || !(value >= 0)) {
    fprintf(stderr, "%s: --%s=%s is not a number\n", program_invocation_short_name, name, text);
    exit(2);
  }
  return value;
}

/* MiB (fractions allowed) as bytes, whole pages. */
static inline size_t mib_option(const char *name, const char *fallback) {
  const size_t page = page_bytes();
  return (size_t)(number_option(name, fallback) * 1024 * 1024) / page * page;
}

/* To be called once, after every option has been asked for. */
static inline void options_end(void) {
  for (int i = 1; i < options.count; i++) {
    const char *argument = options.arguments[i];
    const char *equals = strchr(argument, '=');
    char key[64];
    snprintf(key, sizeof key, " %.*s=", equals ? (int)(equals - argument) : 0, argument);
    if (equals == NULL || strstr(options.known, key) == NULL) {
      fprintf(stderr, "%s: no option %s; options and defaults:%s\n", program_invocation_short_name, argument,
              options.known);
      exit(2);
    }
  }
}

#endif

/** The major version of the running Node. */
export const NODE_MAJOR = Number(process.versions.node.split('.')[0]);

/**
 * Options of Node for a sampler: few threads, small heaps, and no housekeeping. A sampler does the same few things for
 * days; without the tuning flags V8 would spend as much time on compiling and tidying up as on the work. Node exits at
 * once on an unknown option, so they are chosen by version.
 */
export function samplerFlags(major = NODE_MAJOR): readonly string[] {
  return [...COMMON_FLAGS, '--max-old-space-size=128', ...tuningFlags(major)];
}

const COMMON_FLAGS = ['--v8-pool-size=0', '--single-threaded', '--max-semi-space-size=1'] as const;

/** The tuning options, which depend on the version of Node: for hook.conf. */
export function tuningFlags(major = NODE_MAJOR): readonly string[] {
  return [...(major < 22 ? ['--interrupt-budget=400000'] : []), '--no-memory-reducer', '--no-flush-bytecode'];
}

/** Options of a test runner, a debugger or `node -e`: a process that inherited --eval would run the same code again. */
const NOT_INHERITED =
  /^--(eval|print|check|interactive|input-type|test|watch|import|require|loader|experimental|inspect)/;

/** Options of this process for our programs that it starts, so that memory limits hold for these, too. */
export function inheritedFlags(given: readonly string[] = process.execArgv): readonly string[] {
  return given.filter((word, index) => /^--\w/.test(word) && !NOT_INHERITED.test(word) && !isCode(given[index - 1]));
}

const isCode = (before: string | undefined): boolean => /^(-e|-p|-pe|--eval|--print)$/.test(before ?? '');

/** Of the Node that runs this. */
export const NODE_MAJOR = Number(process.versions.node.split('.')[0]);

/**
 * Options of Node for a sampler: few threads, small heaps, and no housekeeping. A sampler does the same few things for
 * days; without the last three V8 spends as much on compiling and tidying up as on them. An option that a version does
 * not know ends Node at once, so they are chosen by version.
 */
export function samplerFlags(major = NODE_MAJOR): readonly string[] {
  return [...COMMON_FLAGS, '--max-old-space-size=128', ...tuningFlags(major)];
}

const COMMON_FLAGS = ['--v8-pool-size=0', '--single-threaded', '--max-semi-space-size=1'] as const;

/** Those beyond the ones that every Node from 20 on knows: for hook.conf. */
export function tuningFlags(major = NODE_MAJOR): readonly string[] {
  return [...(major < 22 ? ['--interrupt-budget=400000'] : []), '--no-memory-reducer', '--no-flush-bytecode'];
}

/** Of a test runner, a debugger or `node -e`: a process that inherits the last of these runs the same code over again. */
const NOT_INHERITED =
  /^--(eval|print|check|interactive|input-type|test|watch|import|require|loader|experimental|inspect)/;

/** Options that this process was started with, for one of ours that it starts: limits of memory hold for both. */
export function inheritedFlags(given: readonly string[] = process.execArgv): readonly string[] {
  return given.filter((word, index) => /^--\w/.test(word) && !NOT_INHERITED.test(word) && !isCode(given[index - 1]));
}

const isCode = (before: string | undefined): boolean => /^(-e|-p|-pe|--eval|--print)$/.test(before ?? '');

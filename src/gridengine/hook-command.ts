import { isNone } from './configuration';

/**
 * Whom `[user@]path args` runs as (null: the job's owner); null for NONE. The user is what stands before the first `@`
 * if no blank comes before it, so that a path with an `@` is misread, as by Grid Engine itself (libs/uti/config_file.c,
 * `parse_script_params`).
 */
export function parseHookCommand(value: string): { readonly user: string | null } | null {
  if (isNone(value.trim())) return null;
  const mark = value.search(/[@ ]/);
  const hasUser = mark >= 0 && value.charAt(mark) === '@';
  const command = value.slice(hasUser ? mark + 1 : 0);
  return /[^ \t]/.test(command) ? { user: hasUser ? value.slice(0, mark) : null } : null;
}

/**
 * Bytes that a pseudo variable can become, generously, except paths: those are typical, since three of 4096 fill the
 * buffer.
 */
const expansions: ReadonlyMap<string, number> = new Map([
  ['job_id', 10],
  ['ja_task_id', 10],
  ['merge_stderr', 1],
  ['host', 256],
  ['job_owner', 256],
  ['job_name', 512],
  ['queue', 512],
]);

const otherExpansion = 1024;

/** Bytes of the value once Grid Engine has replaced its pseudo variables, estimated from above. */
export function longestExpansion(value: string): number {
  let bytes = Buffer.byteLength(value);
  for (const [variable, name = ''] of value.matchAll(/\$(\w+)/g)) {
    bytes += (expansions.get(name) ?? otherExpansion) - variable.length;
  }
  return bytes;
}

import { isNone } from './configuration';
import { longestExpansion, parseHookCommand } from './hook-command';
import { failure, success, type Result } from '../base/result';

export type HookStage = 'prolog' | 'epilog';

export interface HookLine {
  readonly stage: HookStage;
  /**
   * Where our prolog.sh and epilog.sh are: absolute, without blanks or characters that mean something to Grid Engine.
   */
  readonly directory: string;
  /** As root with an empty environment, or as the job's owner with the job's. */
  readonly privileged: boolean;
  /** The site's own hook, verbatim with its user and pseudo variables; null or NONE: none. */
  readonly original: string | null;
  /** The path of `env`: of a static one where the shepherd does not drop LD_ variables. */
  readonly env?: string;
}

/**
 * The shepherd expands pseudo variables into a buffer of this size and cuts what is longer
 * (daemons/shepherd/shepherd.c).
 */
const bufferBytes = 10_000;

/** A path without blanks, `@`, `$`, brackets, commas or backslashes. */
const plainPath = /^(?:\/[A-Za-z0-9._+-]+)+$/;

/**
 * The value to configure. Our hook comes first; a site's own one follows `--`, so that Grid Engine still expands its
 * variables. A value that is ours already is unwrapped, not wrapped again.
 */
export function composeHookCommand(plan: HookLine): Result<string> {
  const env = plan.env ?? '/usr/bin/env';
  if (!plainPath.test(plan.directory)) return failure(`${JSON.stringify(plan.directory)} is not a plain absolute path`);
  if (!plainPath.test(env)) return failure(`${JSON.stringify(env)} is not a plain absolute path`);
  const original = unwrapHookCommand(plan.original ?? 'NONE', [plan.directory]);
  if (/[\n\r\0]|\\$/.test(original)) return failure('the present hook is not one line');
  const user = parseHookCommand(original)?.user ?? null;
  if (!plan.privileged && user !== null)
    return failure(`the present hook runs as ${user}: only a line for root can start it`);
  const prefix = plan.privileged ? `root@${env} -i ` : '';
  const ours = `${prefix}/bin/sh -p ${plan.directory}/${plan.stage}.sh $job_id $ja_task_id`;
  const value = isNone(original) ? ours : `${ours} -- ${original}`;
  const bytes = longestExpansion(value);
  return bytes < bufferBytes
    ? success(value)
    : failure(`up to ${bytes} bytes, and Grid Engine allows ${bufferBytes - 1}`);
}

/** The parts of our own value of `prolog` or `epilog`. */
export interface OurHook extends Omit<HookLine, 'env'> {
  /** The `env` that a privileged line starts with; null: not privileged. */
  readonly env: string | null;
}

const ourLine =
  /^(?:root@(\/\S+) -i (?:[A-Za-z_]\w*=\S* )*)?\/bin\/sh -p (\/\S*)\/(prolog|epilog)\.sh \$job_id \$ja_task_id(?: -- (.*\S))?$/;

const ourDirectory = /\/qmemacct(?:-[^/]*)?(?:\/|$)/;

/**
 * Recognises our line of any version: by its shape, and by `qmemacct` or `qmemacct-VERSION` in the path or one of
 * `directories`. Null for everything else, also for our line edited by hand beyond recognition.
 */
export function recogniseHookCommand(value: string, directories: readonly string[] = []): OurHook | null {
  const match = ourLine.exec(value.trim());
  if (match?.[2] === undefined) return null;
  const directory = match[2];
  if (!ourDirectory.test(directory) && !directories.includes(directory)) return null;
  return {
    stage: match[3] === 'epilog' ? 'epilog' : 'prolog',
    directory,
    privileged: match[1] !== undefined,
    env: match[1] ?? null,
    original: match[4] ?? null,
  };
}

/**
 * The site's own value: what to restore at uninstallation. `NONE` if there was none; any other value is returned as it
 * is.
 */
export function unwrapHookCommand(value: string, directories: readonly string[] = []): string {
  let original = value.trim();
  for (let ours = recogniseHookCommand(original, directories); ours !== null;) {
    original = ours.original ?? 'NONE';
    ours = recogniseHookCommand(original, directories);
  }
  return original;
}

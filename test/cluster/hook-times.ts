import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cell } from './cell';

export type HookName = 'prolog' | 'epilog';

/** How long our hooks held each job, in ms. */
export interface HookTimes {
  readonly of: (hook: HookName) => ReadonlyMap<string, number>;
}

/** Writes the time beside WHAT and JOB, then becomes COMMAND if there is one. */
const STAMP = (file: string): string =>
  ['#!/bin/bash', `echo "$1 $2 $EPOCHREALTIME" >>${file}`, 'shift 2', '[ $# -eq 0 ] || exec "$@"', ''].join('\n');

/**
 * Puts a clock around our hooks, as they are configured: it writes the time and becomes our hook, which hands over to a
 * site's hook that writes the time again. So what our hook needs to find and start the site's hook counts, too.
 */
export async function timeHooks(cell: Cell): Promise<HookTimes> {
  const directory = join(cell.stateDir, 'stamps');
  mkdirSync(directory);
  const [stamp, file] = [join(directory, 'stamp'), join(directory, 'times')];
  writeFileSync(stamp, STAMP(file));
  chmodSync(stamp, 0o755);
  const config = await cell.config();
  const timed = (hook: HookName): string => {
    const ours = config.get(hook) ?? '';
    if (!ours.startsWith('root@') || ours.includes(' -- ')) throw new Error(`${hook} ${ours}: not ours alone`);
    return `root@${stamp} ${hook}.begin $job_id ${ours.slice('root@'.length)} -- root@${stamp} ${hook}.end $job_id`;
  };
  await cell.setGlobal({ prolog: timed('prolog'), epilog: timed('epilog') });
  return { of: (hook) => timesOf(file, hook) };
}

function timesOf(file: string, hook: HookName): ReadonlyMap<string, number> {
  const begins = new Map<string, number>();
  const times = new Map<string, number>();
  for (const line of existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []) {
    const [what, job = '', at] = line.split(' ');
    if (what === `${hook}.begin`) begins.set(job, Number(at));
    else if (what === `${hook}.end`) times.set(job, (Number(at) - (begins.get(job) ?? NaN)) * 1000);
  }
  return times;
}

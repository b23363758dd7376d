import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cell } from './cell';

export type HookName = 'prolog' | 'epilog';

export interface HookTimes {
  /** By job, how long our hook held it, in ms; so far. */
  readonly of: (hook: HookName) => ReadonlyMap<string, number>;
}

/** As our hook became this, it is as old as that one: WHAT, JOB, and its age in ms (of clock ticks of 10 ms). */
const STAMP = (file: string): string =>
  [
    '#!/bin/bash',
    'read -r uptime _ </proc/uptime',
    'read -r stat </proc/$$/stat',
    'fields=(${stat##*) })',
    `echo "$1 $2 $((10#\${uptime/./} * 10 - \${fields[19]} * 10))" >>${file}`,
    '',
  ].join('\n');

/** Chains a site's hook behind each of ours, which tells how long that took to hand over. Times count from now on. */
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
    return `${ours} -- root@${stamp} ${hook} $job_id`;
  };
  await cell.setGlobal({ prolog: timed('prolog'), epilog: timed('epilog') });
  return { of: (hook) => timesOf(file, hook) };
}

function timesOf(file: string, hook: HookName): ReadonlyMap<string, number> {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  return new Map(
    lines.flatMap((line) => {
      const [what, job = '', ms] = line.split(' ');
      return what === hook ? [[job, Number(ms)]] : [];
    }),
  );
}

import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cell } from './cell';

export type HookName = 'prolog' | 'epilog';

export interface HookTimes {
  /** How long our hook has held each job so far, in ms, by job number. */
  readonly of: (hook: HookName) => ReadonlyMap<string, number>;
}

/** A site's hook that writes HOOK, JOB and its age in ms (in clock ticks of 10 ms): our hook's, which executed it. */
const STAMP = (file: string): string =>
  [
    '#!/bin/bash',
    'read -r uptime _ </proc/uptime',
    'read -r stat </proc/$$/stat',
    'fields=(${stat##*) })',
    `echo "$1 $2 $((10#\${uptime/./} * 10 - \${fields[19]} * 10))" >>${file}`,
    '',
  ].join('\n');

/** From now on, measures how long our hooks take, by a site's hook chained behind each. */
export async function timeHooks(cell: Cell): Promise<HookTimes> {
  const directory = join(cell.stateDir, 'stamps');
  mkdirSync(directory);
  const [stamp, file] = [join(directory, 'stamp'), join(directory, 'times')];
  writeFileSync(stamp, STAMP(file));
  chmodSync(stamp, 0o755);
  const config = await cell.config();
  const timed = (hook: HookName): string => {
    const ours = config.get(hook) ?? '';
    if (!ours.startsWith('root@') || ours.includes(' -- ')) throw new Error(`${hook} ${ours} is not our hook alone`);
    return `${ours} -- root@${stamp} ${hook} $job_id`;
  };
  await cell.setGlobal({ prolog: timed('prolog'), epilog: timed('epilog') });
  return { of: (hook) => timesOf(file, hook) };
}

function timesOf(file: string, hook: HookName): ReadonlyMap<string, number> {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  return new Map(
    lines.flatMap((line) => {
      const [name, job = '', ms] = line.split(' ');
      return name === hook ? [[job, Number(ms)]] : [];
    }),
  );
}

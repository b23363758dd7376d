import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { chownSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type {} from 'node:test';
import { programPath } from '../../src/base/programs';
import type { JobRecord } from '../../src/record/record';
import { PROGRAM } from '../support/released';
import { temporaryStore } from './temporary-store';

export const DELIVERER = programPath('accounting/deliverer', PROGRAM);

const NOBODY = 65534;
/** Options to start the deliverer as the sampler does: root starts it as another user. */
export const UNPRIVILEGED = process.geteuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};

/** Why an unprivileged user can't run the deliverer here; false: it can. */
export function cannotRun(): string | false {
  const { status, stderr } = spawnSync(process.execPath, ['--check', DELIVERER], { ...UNPRIVILEGED, encoding: 'utf8' });
  return status === 0 ? false : `uid ${NOBODY} can't run ${DELIVERER} (${stderr.trim().split('\n').at(-1) ?? ''})`;
}

/** The path of a store that does not exist yet, in a directory that the deliverer's user owns. */
export function sharedStore(): string {
  const directory = temporaryStore();
  mkdirSync(directory);
  if (UNPRIVILEGED.uid !== undefined) {
    chownSync(directory, UNPRIVILEGED.uid, UNPRIVILEGED.gid);
    chownSync(dirname(directory), UNPRIVILEGED.uid, UNPRIVILEGED.gid);
  }
  return join(directory, 'accounting.db');
}

export interface DeliveredRow {
  readonly id: number | null;
  readonly ok: boolean;
  readonly error?: string;
  readonly retry?: boolean;
}

export interface Delivery {
  readonly status: number | null;
  readonly rows: readonly DeliveredRow[];
  /** Lines of stderr. */
  readonly complaints: readonly string[];
}

export function lineOf(id: number, record: JobRecord): string {
  return `${JSON.stringify({ id, record })}\n`;
}

export interface Deliverer {
  readonly process: ChildProcessWithoutNullStreams;
  readonly finished: Promise<Delivery>;
}

export function startDeliverer(args: readonly string[], options: { readonly asRoot?: boolean } = {}): Deliverer {
  const child = spawn(process.execPath, [DELIVERER, ...args], options.asRoot ? {} : UNPRIVILEGED);
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  // The deliverer may have ended or been killed before it has read everything.
  child.stdin.on('error', () => undefined);
  const finished = new Promise<Delivery>((resolve) => {
    child.on('close', (status) => {
      const lines = (text: string): string[] => text.split('\n').slice(0, -1);
      resolve({
        status,
        rows: lines(out).map((line) => JSON.parse(line) as DeliveredRow),
        complaints: lines(err),
      });
    });
  });
  return { process: child, finished };
}

/** Delivers records, numbered from 0, as one stream. */
export function deliver(path: string, records: readonly JobRecord[], ...args: readonly string[]): Promise<Delivery> {
  const { process: child, finished } = startDeliverer(['--accounting', path, '--mode', '0640', ...args]);
  child.stdin.end(records.map((record, id) => lineOf(id, record)).join(''));
  return finished;
}

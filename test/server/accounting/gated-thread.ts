import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { AccountingThread, type AccountingThreadOptions } from '../../../src/server/accounting/accounting-thread';
import { temporaryDirectory } from '../../support/temporary-directory';
import { PATIENCE_MS } from '../../support/until';

/** An accounting service whose thread records its queries, and does not finish job 1 before the gate opens. */
export interface GatedThread {
  readonly accounting: AccountingThread;
  /** Numbers of the jobs that the thread was asked for, in order. */
  readonly run: () => readonly number[];
  readonly open: () => void;
}

const PROGRAM = `
const { appendFileSync, readFileSync } = require('node:fs');
const { parentPort } = require('node:worker_threads');
parentPort.on('message', ({ id, question }) => {
  const job = question === null ? 0 : question.query.job_id;
  appendFileSync(__dirname + '/run', job + '\\n');
  if (job === 1) readFileSync(__dirname + '/gate');
  parentPort.postMessage({ id, json: new TextEncoder().encode('{"records":[]}') });
});`;

export function gatedThread(t: TestContext, options: Partial<AccountingThreadOptions> = {}): GatedThread {
  const directory = temporaryDirectory();
  const program = join(directory, 'program.js');
  writeFileSync(program, PROGRAM);
  execFileSync('mkfifo', [join(directory, 'gate')]);
  const accounting = new AccountingThread({ path: '/nowhere', program, patienceMs: PATIENCE_MS, ...options });
  t.after(() => accounting.stop());
  const log = join(directory, 'run');
  const run = (): readonly number[] =>
    existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n').map(Number) : [];
  return { accounting, run, open: () => writeFileSync(join(directory, 'gate'), 'open') };
}

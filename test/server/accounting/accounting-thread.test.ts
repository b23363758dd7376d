import assert from 'node:assert/strict';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { openSqliteStore } from '../../../src/accounting/sqlite/sqlite-store';
import type { JobRecord } from '../../../src/record/record';
import {
  AccountingThread,
  type AccountingService,
  type AccountingThreadOptions,
} from '../../../src/server/accounting/accounting-thread';
import { HttpProblem } from '../../../src/server/http/http-problem';
import { FULL_ACCESS, type Access } from '../../../src/server/access/access';
import { killedAtLimit, ordinary } from '../../report/sample-records';
import { temporaryDirectory } from '../../support/temporary-directory';
import { until } from '../../support/until';
import { gatedThread } from './gated-thread';

async function fill(path: string, records: readonly JobRecord[]): Promise<void> {
  const store = openSqliteStore(path, 0o600);
  await store.merge(records);
  await store.close();
}

function accountingOf(t: TestContext, options: AccountingThreadOptions): AccountingService {
  const accounting = new AccountingThread(options);
  t.after(() => accounting.stop());
  return accounting;
}

interface Answer {
  readonly records: readonly JobRecord[];
  readonly totals?: { readonly records: number };
}

async function job(
  accounting: AccountingService,
  id: number,
  access: Access = FULL_ACCESS,
): Promise<readonly JobRecord[]> {
  const bytes = await accounting.ask({ what: 'job', query: { job_id: id } }, access);
  return (JSON.parse(bytes.toString('utf8')) as Answer).records;
}

const hasStatus =
  (status: number, detail = /./) =>
  (error: unknown): boolean =>
    error instanceof HttpProblem && error.httpStatus === status && detail.test(error.message);

describe('AccountingThread', () => {
  it('lets the question under way end when it stops: SQLite may be waiting for a lock', async (t) => {
    const { accounting, run, open } = gatedThread(t);
    const under = job(accounting, 1);
    await until(() => run().length === 1);
    const stopped = accounting.stop();
    open();
    assert.deepEqual(await under, []);
    await stopped;
    await assert.rejects(job(accounting, 2), hasStatus(503, /the server is ending/));
  });

  it('logs a slow query on one line, whatever its parameters', async (t) => {
    const path = join(temporaryDirectory(), 'a.db');
    await fill(path, [ordinary]);
    const lines: string[] = [];
    const slow = accountingOf(t, { path, slowMs: 0, log: (line) => lines.push(line) });
    await slow.probe();
    await slow.ask({ what: 'records', query: { since: 0, until: 1, owner: 'eve\n\u202e' } }, FULL_ACCESS);
    assert.equal(lines.length, 1);
    assert.match(
      lines[0] ?? '',
      /^slow: the accounting DB needed \d+\.\d s for "records" \{"since":0,"until":1,"owner":"eve[ -~]+"\}$/,
    );
    const quick = accountingOf(t, { path, slowMs: Infinity, log: (line) => lines.push(line) });
    await job(quick, 4711);
    assert.equal(lines.length, 1);
  });

  it('answers with the records that the caller may see', async (t) => {
    const path = join(temporaryDirectory(), 'a.db');
    await fill(path, [ordinary, { ...killedAtLimit, owner: 'alice' }]);
    const accounting = accountingOf(t, { path });
    assert.deepEqual(
      (await job(accounting, 4711)).map(({ owner }) => owner),
      ['bob'],
    );
    const own: Access = { level: 'own', user: 'alice' };
    assert.deepEqual(
      (await job(accounting, 4712, own)).map(({ owner }) => owner),
      ['alice'],
    );
    await assert.rejects(job(accounting, 4711, own), hasStatus(404));
    const anonymous: Access = { level: 'anonymous', user: 'alice' };
    const [hidden] = await job(accounting, 4711, anonymous);
    assert.deepEqual([hidden?.owner, hidden?.job_name, hidden?.h_vmem], ['anonymous', 'anonymous', ordinary.h_vmem]);
    const query = { owner: 'bob', since: 0, until: Date.now() + 1e12 };
    const refused = (access: Access, words: RegExp): Promise<void> =>
      assert.rejects(accounting.ask({ what: 'records', query }, access), hasStatus(403, words));
    await refused(own, /your own jobs only/);
    await refused(anonymous, /the jobs of others without owners/);
    const mine = await accounting.ask({ what: 'records', query: { ...query, owner: 'alice' } }, own);
    assert.equal((JSON.parse(mine.toString('utf8')) as Answer).totals?.records, 1);
  });

  it('counts only jobs that the caller may see as older or newer ones', async (t) => {
    const path = join(temporaryDirectory(), 'a.db');
    const later = {
      ...ordinary,
      owner: 'alice',
      run_id: '1f2e3d4c.9999.1',
      submitted_at: '2026-11-21T00:00:00.000Z',
      started_at: '2026-11-21T00:00:01.000Z',
      ended_at: '2026-11-21T00:00:02.000Z',
    };
    await fill(path, [ordinary, later]);
    const accounting = accountingOf(t, { path });
    const answer = async (access: Access): Promise<unknown> => {
      const bytes = await accounting.ask({ what: 'job', query: { job_id: 4711 } }, access);
      const { records, older_incarnations: older } = JSON.parse(bytes.toString('utf8')) as Answer & {
        readonly older_incarnations: number;
      };
      return [records.map(({ owner }) => owner), older];
    };
    assert.deepEqual(await answer(FULL_ACCESS), [['alice'], 1]);
    assert.deepEqual(await answer({ level: 'own', user: 'bob' }), [['bob'], 0]);
    assert.deepEqual(await answer({ level: 'own', user: 'alice' }), [['alice'], 0]);
  });

  it('says why the DB cannot be read, and reads it once it exists or was replaced', async (t) => {
    const directory = temporaryDirectory();
    const path = join(directory, 'a.db');
    const accounting = accountingOf(t, { path });
    await assert.rejects(job(accounting, 4711), hasStatus(503, /accounting DB.*does not exist/));
    assert.match(accounting.problem() ?? '', /does not exist/);
    writeFileSync(path, 'no database at all, but some text');
    await assert.rejects(job(accounting, 4711), hasStatus(503));
    await fill(join(directory, 'b.db'), [ordinary]);
    renameSync(join(directory, 'b.db'), path);
    assert.equal((await job(accounting, 4711)).length, 1);
    assert.equal(accounting.problem(), null);
    await fill(join(directory, 'c.db'), [killedAtLimit]);
    renameSync(join(directory, 'c.db'), path);
    assert.equal((await job(accounting, 4712)).length, 1);
    await assert.rejects(job(accounting, 4711), hasStatus(404));
    await accounting.probe();
    assert.equal(accounting.problem(), null);
  });

  it('gives up on a DB that hangs, and refuses queries beyond the limit', async (t) => {
    const program = join(temporaryDirectory(), 'hangs.js');
    writeFileSync(program, "require('node:worker_threads').parentPort.on('message', () => undefined);");
    const accounting = accountingOf(t, { path: '/nowhere', program, patienceMs: 50, mostWaiting: 2 });
    const refused = [job(accounting, 1), job(accounting, 2), job(accounting, 3)].map((one) =>
      assert.rejects(one, hasStatus(503)),
    );
    await assert.rejects(job(accounting, 4), hasStatus(503, /too many questions wait/));
    await Promise.all(refused);
    await assert.rejects(job(accounting, 5), hasStatus(503, /has not answered for 0\.05 s/));
  });

  it('starts its thread again when it has died', async (t) => {
    const program = join(temporaryDirectory(), 'dies.js');
    const text =
      "const { parentPort } = require('node:worker_threads');" +
      "parentPort.on('message', ({ id, question }) => {" +
      'if (question.query.job_id === 13) throw new Error("unlucky");' +
      'parentPort.postMessage({ id, json: new TextEncoder().encode(JSON.stringify({ records: [] })) }); });';
    writeFileSync(program, text);
    const accounting = accountingOf(t, { path: '/nowhere', program });
    assert.deepEqual(await job(accounting, 1), []);
    await assert.rejects(job(accounting, 13), hasStatus(503, /ended; ask again/));
    assert.deepEqual(await job(accounting, 2), []);
    await accounting.stop();
    await assert.rejects(job(accounting, 3), hasStatus(503, /the server is ending/));
  });

  it('ends a query that takes too long, and answers the next ones', async (t) => {
    const program = join(temporaryDirectory(), 'heavy.js');
    const text =
      "const { parentPort } = require('node:worker_threads');" +
      "parentPort.on('message', ({ id, question }) => {" +
      'while (question.query.job_id === 13);' +
      'parentPort.postMessage({ id, json: new TextEncoder().encode(JSON.stringify({ records: [] })) }); });';
    writeFileSync(program, text);
    const lines: string[] = [];
    const log = (line: string): void => void lines.push(line);
    const accounting = accountingOf(t, { path: '/nowhere', program, longestMs: 2000, slowMs: 1000, log });
    const heavy = assert.rejects(job(accounting, 13), hasStatus(503, /ended; ask again/));
    // On a busy machine a thread may not even start within that time.
    await until(() =>
      job(accounting, 2).then(
        () => true,
        () => false,
      ),
    );
    await heavy;
    assert.match(lines.join('\n'), /^the accounting DB has not answered for \d\.\d s: its reader is ended/);
    assert.match(lines.join('\n'), /^slow: .*"job_id":13/m);
  });
});

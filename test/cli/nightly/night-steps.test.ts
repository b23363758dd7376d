import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { openHistory } from '../../../src/accounting/open-store';
import { runNightly } from '../../../src/cli/nightly/run-nightly';
import { ledgerDirectory, openLedger } from '../../../src/cli/nightly/ledger';
import { nightOf } from '../../../src/cli/nightly/night';
import { nightSteps } from '../../../src/cli/nightly/night-steps';
import { noPostgres, startServer } from '../../accounting/postgres/server';
import { temporaryDirectory } from '../../support/temporary-directory';
import { temporaryStore } from '../../accounting/temporary-store';
import { seededRandom } from '../../accounting/realistic-record';
import { mailSink } from '../mail/mail-sink';
import { fakeNight } from './fake-night';
import type { JobRecord } from '../../../src/record/record';
import { bracketOf, recordOf } from '../../support/records';

const GIB = 1024 ** 3;
const night = nightOf('2026-11-20') ?? assert.fail();

/** A finished job of four hours that used a quarter of its 8 GiB. */
function job(id: number, owner: string, ended: number): JobRecord {
  return recordOf({
    cluster: 'testcluster',
    job_id: id,
    revision: ended,
    owner,
    job_name: `align_${owner}`,
    slots: 1,
    host_slots: 1,
    started_at: new Date(ended - 4 * 3_600_000).toISOString(),
    ended_at: new Date(ended).toISOString(),
    wallclock_seconds: 4 * 3600,
    cpu_seconds: 3 * 3600,
    exit_status: 0,
    samples: 100,
    h_vmem: { request_bytes: 8 * GIB, limit_bytes: 8 * GIB, per: 'slot' },
    rss_byte_seconds: GIB * 4 * 3600,
    peak_rss: bracketOf(2 * GIB, 2 * GIB),
  });
}

async function wholeNight(t: TestContext, directory: string, accounting: string): Promise<void> {
  const sink = await mailSink(t, { disabledCommands: ['AUTH', 'STARTTLS'] });
  const fake = fakeNight(
    directory,
    {
      accounting,
      mail_server: `smtp://127.0.0.1:${sink.port}`,
      mail_admins: ['ops@example.org'],
      mail_owners: 'all',
    },
    {
      openStore: () => openHistory(fake.settings),
      report: (store, when, owner) => nightSteps.report(store, when, owner, new Date(2026, 10, 21, 3), fake.settings),
    },
  );
  const random = seededRandom(1);
  const within = (): number => night.since.getTime() + Math.floor(random() * 86_400_000);
  const store = await openHistory(fake.settings);
  await store.merge([
    ...Array.from({ length: 20 }, (_, index) => job(100 + index, index < 15 ? 'alice' : 'bob', within())),
    job(200, 'carol', night.since.getTime() - 1),
    job(201, 'carol', night.until.getTime()),
  ]);
  await store.close();

  const ledger = openLedger(ledgerDirectory(fake.settings), 'test', () => undefined);
  const outcome = await runNightly(fake.parts, ledger, { mail: true });
  ledger.close();
  assert.deepEqual([outcome.troubles, outcome.done], [[], ['2026-11-20']]);
  assert.deepEqual(
    sink.mails.map(({ envelopeTo }) => envelopeTo[0]),
    ['alice@example.org', 'bob@example.org', 'ops@example.org'],
  );
  const [alice, bob, ops] = sink.mails;
  assert.match(
    alice?.headers.get('subject') ?? '',
    /^Your jobs of 2026-11-20 on testcluster: 15 jobs and array tasks, 25 %/,
  );
  assert.match(bob?.headers.get('subject') ?? '', /: 5 jobs and array tasks, 25 %/);
  assert.match(ops?.headers.get('subject') ?? '', /^qmemacct testcluster 2026-11-20: 20 jobs and array tasks, 25 %/);
  for (const text of [alice?.text ?? '', alice?.html ?? '']) {
    assert.match(text, /align_alice/);
    assert.ok(!/bob|carol/.test(text));
  }
  for (const text of [ops?.text ?? '', ops?.html ?? '']) {
    assert.match(text, /alice[^]*bob/);
    assert.ok(!text.includes('carol'));
  }
  assert.ok(
    fake.printed.some((line) => /^roll-up: [1-9]/.test(line)),
    fake.printed.join('\n'),
  );
}

describe('a whole night', () => {
  it('rolls up a SQLite store, and mails each owner only the figures of that owner', async (t) => {
    const accounting = temporaryStore();
    await wholeNight(t, dirname(accounting), accounting);
  });

  it('rolls up PostgreSQL, and mails each owner only the figures of that owner', { skip: noPostgres }, async (t) => {
    const server = await startServer();
    t.after(() => server.remove());
    const directory = temporaryDirectory();
    mkdirSync(join(directory, 'reports'));
    await wholeNight(t, directory, server.url(await server.database()));
  });
});

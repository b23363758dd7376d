import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { nightOf } from '../../src/cli/nightly/night';
import type { Report } from '../../src/report/efficiency/report';
import { formatDay } from '../../src/report/format/local-time';
import { mailSettings, startSink } from './mail-sink';
import { burnerCommand, withSite, type Site } from './site';
import { until } from '../support/until';

const HOST = 'ge1';
const SETTINGS = [...mailSettings, 'mail_admins = ["ops@example.org"]'].join('\n');

/** Runs jobs of two owners, one of which dies at its limit; resolves to the day on which they ended. */
async function dayOfJobs({ cell, product }: Site): Promise<{ readonly day: string; readonly killed: string }> {
  // tail must hold a line that never ends, and fails when the kernel refuses it more memory.
  const dies = '{ for i in 1 2 3; do head -c 120000000 /dev/zero; sleep 0.4; done; } | tail >/dev/null';
  const steady = burnerCommand('steady', 'night.truth', { mib: 100, hold: 3000 });
  const jobs = [
    await cell.submit('gealice', ['-N', 'dies', '-l', 'h_vmem=300M'], dies),
    await cell.submit('gealice', ['-N', 'wide', '-l', 'h_vmem=2G'], steady),
    await cell.submit('gebob', ['-N', 'other', '-l', 'h_vmem=2G'], steady),
  ];
  const days = new Set<string>();
  for (const job of jobs) {
    await cell.waitFinished(job);
    const record = await product.record(job);
    assert.equal(record.trust, 'root');
    days.add(formatDay(new Date(record.ended_at ?? '')));
  }
  assert.equal(days.size, 1, 'midnight came in between');
  return { day: [...days].join(''), killed: jobs[0] ?? '' };
}

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);

/** If midnight is near, waits until it has passed: the day must not end while the jobs run. */
async function untilMidnightIsFar(): Promise<void> {
  const NEAR_MS = 120_000;
  const dayIn = (ms: number): string => formatDay(new Date(Date.now() + ms));
  while (dayIn(0) !== dayIn(NEAR_MS)) await sleep(1000);
}

async function night(site: Site): Promise<void> {
  const { cell, product } = site;
  const program = join(product.prefix, 'current');
  const installed = await product.run(HOST, 'install', '--node', '--nightly', '--yes', '--prefix', product.prefix);
  assert.equal(installed.status, 0, installed.stderr);
  const asked = await cell.on(HOST, [`${program}/bin/qmemacct`, 'digest', 'on'], { user: 'gealice' });
  assert.equal(asked.status, 0, asked.stderr);
  await untilMidnightIsFar();
  const { day, killed } = await dayOfJobs(site);
  const morning = new Date((nightOf(day) ?? assert.fail()).until.getTime() + 3 * 3_600_000).toISOString();
  const sink = await startSink(site, HOST);
  try {
    const run = () => cell.on(HOST, [process.execPath, join(__dirname, 'run-night.js'), morning]);
    const first = await run();
    assert.equal(first.status, 0, first.stderr);
    assert.equal(first.stdout, `done: ${day}; 2 mails sent\n`);
    await until(() => sink.mails.length >= 2, 'both mails came');
    assert.deepEqual(
      sink.mails.map(({ to }) => to),
      ['gealice@example.org', 'ops@example.org'],
    );
    const [digest, whole] = sink.mails.map(({ mail }) => mail);
    assert.ok(digest !== undefined && whole !== undefined);
    assert.match(digest.headers.get('subject') ?? '', new RegExp(`^Your jobs of ${day} on .*: 2 jobs`));
    for (const text of [digest.text, digest.html]) {
      assert.match(text, /dies/);
      assert.ok(text.includes(killed), text);
      assert.ok(!/gebob|other/.test(text), text);
    }
    assert.match(digest.text, /"qmemacct digest off" on ge1 stops it/);
    for (const text of [whole.text, whole.html]) assert.match(text, /gealice[^]*gebob|gebob[^]*gealice/);

    const reports = join(cell.productDir(HOST, '/var/lib/qmemacct'), 'reports');
    const html = readFileSync(join(reports, `${day}.html`), 'utf8');
    assert.equal(whole.html.trim(), html.trim());
    assert.notEqual(statSync(join(reports, `${day}.html`)).uid, 0);
    const report = JSON.parse(readFileSync(join(reports, `${day}.json`), 'utf8')) as Report;
    const lines = cell.accounting();
    assert.equal(report.site.jobs, 3);
    assert.equal(report.coverage.sampled, 3);
    assert.equal(report.site.killed_by_memory, 1);
    assert.equal(report.killed_by_memory.lines[0]?.job_id, Number(killed));
    const wallclock = sum(lines.map((line) => Number(line.ru_wallclock)));
    assert.ok(
      Math.abs(report.site.core_hours * 3600 - wallclock) <= 3 * lines.length,
      `${report.site.core_hours} core hours, Grid Engine: ${wallclock} s`,
    );

    const again = await run();
    assert.deepEqual([again.status, again.stdout], [0, 'nothing to do: every night is done\n']);
    assert.equal(sink.mails.length, 2);
    const hook = await cell.on(HOST, ['/bin/sh', '-p', `${program}/hooks/nightly.sh`, '--dry-run', '--no-mail']);
    assert.match(hook.stdout, /^import, roll-up and prune in .*accounting\.db\n/, hook.stderr);
  } finally {
    sink.end();
  }
}

describe('qmemacct nightly on a real Grid Engine', () => {
  it(
    "reports and mails a day's jobs once, to an owner who asked and to the admins",
    { timeout: 2_000_000 },
    async (t) => {
      await withSite(t, { execHosts: 1, settings: SETTINGS }, night);
    },
  );
});

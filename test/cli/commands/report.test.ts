import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { AccountingReader } from '../../../src/accounting/store';
import { showReport, type ReportOptions } from '../../../src/cli/commands/report';
import { runProgram } from '../../../src/cli/program';
import type { Terminal } from '../../../src/cli/terminal';
import type { Report } from '../../../src/report/efficiency/report';
import type { JobRecord } from '../../../src/record/record';
import { memoryReader } from '../../report/efficiency/memory-reader';
import { sampleCluster } from '../../report/efficiency/sample-cluster';
import { fakeTerminal } from '../fake-terminal';
import { mailSink } from '../mail/mail-sink';
import { temporaryDirectory } from '../../support/temporary-directory';

process.env.TZ = 'Europe/Berlin';

const directory = temporaryDirectory();

const RECORDS = sampleCluster(120);

const OPTIONS: ReportOptions = {
  config: '/nonexistent.toml',
  color: true,
  since: '2026-11-20',
  until: '2026-11-21',
  // Any readable path can stand for the store.
  accounting: __filename,
};

interface Run {
  readonly status: number;
  readonly output: string;
  readonly warnings: string;
}

async function report(
  options: Partial<ReportOptions> = {},
  records: readonly JobRecord[] = RECORDS,
  changes: Partial<Terminal> = {},
): Promise<Run> {
  const terminal = fakeTerminal(changes);
  const reader: AccountingReader = {
    ...memoryReader(records),
    jobs: () => Promise.reject(new Error('not asked for here')),
    pages: () => {
      throw new Error('not asked for here');
    },
    running: () => Promise.reject(new Error('not asked for here')),
    nodes: () => Promise.resolve([]),
    close: () => Promise.resolve(),
  };
  const status = await showReport({ ...OPTIONS, ...options }, terminal, {
    open: () => Promise.resolve(reader),
    askServer: () => Promise.reject(new Error('there is none')),
    gridEngine: () => Promise.reject(new Error('there is none')),
    running: () => Promise.resolve([]),
  });
  return { status, output: terminal.output(), warnings: terminal.warnings() };
}

describe('qmemacct report', () => {
  it('shows text, in colours on a terminal only', async () => {
    const plain = await report();
    assert.deepEqual([plain.status, plain.warnings], [0, '']);
    assert.match(plain.output, /^Memory report of biology .*\n2026-11-20 00:00 → 2026-11-21 00:00 UTC\+01:00\n/);
    assert.ok(!plain.output.includes('\u001b'));
    const coloured = await report({}, undefined, { isTTY: true, columns: 90 });
    assert.ok(coloured.output.includes('\u001b['));
  });

  it('prints HTML, CSV and JSON', async () => {
    assert.ok((await report({ format: 'html' })).output.startsWith('<!DOCTYPE html>\n<html lang="en">'));
    assert.match((await report({ format: 'csv', by: 'queue' })).output, /^since,until,queue,.*\n.*,all\.q,/);
    const json = JSON.parse((await report({ json: true, by: 'host' })).output) as Report;
    assert.deepEqual([json.schema, json.by, json.owner], [1, 'host', null]);
  });

  it("shows one owner's jobs by name", async () => {
    const { output } = await report({ owner: 'tanaka' });
    assert.match(output, /^Jobs of tanaka /);
    assert.match(output, /\nBy job name\n/);
    assert.doesNotMatch(output, /ljensen/);
  });

  it('writes a file without colours, and nothing to the terminal', async () => {
    const path = join(directory, 'report.txt');
    const { status, output } = await report({ output: path }, undefined, { isTTY: true, columns: 70 });
    assert.deepEqual([status, output], [0, '']);
    const text = readFileSync(path, 'utf8');
    assert.match(text, /^Memory report of biology/);
    assert.ok(!text.includes('\u001b'));
  });

  it('says that it lists no job from before the days for which records are kept', async () => {
    const config = join(directory, 'kept.toml');
    writeFileSync(config, 'keep_records_days = 30\n');
    const { warnings } = await report({ config, since: '2026-01-01' });
    assert.match(warnings, /^qmemacct: jobs from before 2026-\d\d-\d\d UTC are not listed: .* kept 30 days .*\n$/);
  });

  it('ends with status 1 where no job ended, and says so', async () => {
    const { status, warnings } = await report({}, []);
    assert.equal(status, 1);
    assert.match(warnings, /^qmemacct: no job ended from 2026-11-20 00:00 to 2026-11-21 00:00 UTC\+01:00; --since/);
  });

  it("refuses options that conflict or are wrong, and an output file that can't be written", async () => {
    for (const options of [{ format: 'html', csv: true }, { since: 'now' }, { mail: true }] as const)
      await assert.rejects(report(options), { name: 'CommandError', status: 2 });
    await assert.rejects(report({ output: join(directory, 'no', 'such', 'place') }), {
      name: 'CommandError',
      status: 3,
      message: /^--output: .* can't be written: /,
    });
  });

  it('ends with status 3 where the accounting DB does not exist', async () => {
    const terminal = fakeTerminal();
    const status = await runProgram(['report', '--accounting', join(directory, 'none.db')], '0', terminal);
    assert.equal(status, 3);
    assert.match(terminal.warnings(), /none\.db does not exist; check the path/);
  });

  it('is sent by mail to the admins, or the report of one owner to that owner', async (t) => {
    const sink = await mailSink(t);
    const config = join(directory, 'mail.toml');
    writeFileSync(
      config,
      `mail_server = "smtp://127.0.0.1:${sink.port}?tls=off"\nmail_from = "qmemacct@example.org"\nmail_admins = ["ops@example.org"]\nmail_domain = "example.org"\n`,
    );
    const site = await report({ mail: true, config });
    assert.deepEqual([site.status, site.output], [0, '']);
    assert.match(site.warnings, /sent to ops@example\.org by 127\.0\.0\.1/);
    await report({ mail: true, config, owner: 'tanaka' });
    const [first, second] = sink.mails;
    assert.deepEqual([first?.envelopeTo, second?.envelopeTo], [['ops@example.org'], ['tanaka@example.org']]);
    assert.match(
      first?.headers.get('subject') ?? '',
      /^qmemacct biology: 122 jobs and array tasks, \d+ % of requested memory used/,
    );
    assert.match(second?.text ?? '', /^Jobs of tanaka /);
    assert.ok(second?.html.startsWith('<!DOCTYPE html>') && !second.html.includes('ljensen'));
    await assert.rejects(report({ mail: true, config, owner: 'a b@elsewhere' }), { name: 'CommandError', status: 2 });
  });
});

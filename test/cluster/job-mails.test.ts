import assert from 'node:assert/strict';
import { dirname } from 'node:path';
import { describe, it } from 'node:test';
import { ASKED_FOR } from '../../src/cli/job-mails/job-mail';
import { mailSettings, startSink } from './mail-sink';
import { serveOnMaster } from './serving';
import { withSite, gateFor, type Site } from './site';
import { until } from '../support/until';

const MASTER = 'ge0';

async function mailsOfJobs(site: Site): Promise<void> {
  const { cell, product } = site;
  const sink = await startSink(site, MASTER);
  const stop = await serveOnMaster(site, [...mailSettings, 'poll_interval = 1', 'usage_interval = 1']);
  try {
    await cell.submit('gealice', ['-N', 'silent', '-l', 'h_vmem=1G'], 'sleep 1');
    const gate = gateFor(cell, 'gealice', 'wanted');
    const options = ['-N', 'wanted', '-ac', 'qmemacct=mail', '-l', 'h_vmem=1G'];
    const job = await cell.submit('gealice', options, `${gate.wait}; exit 3`);
    const isKnown = `grep -qs '"job":${job},' ${dirname(product.accounting)}/job-mails/asked.json`;
    await until(
      async () => (await cell.on(MASTER, isKnown)).status === 0,
      `job ${job} among the jobs that ask for a mail`,
      500,
    );
    gate.open();
    await until(() => sink.mails.length > 0, 'a mail');
    assert.deepEqual(
      sink.mails.map(({ to, mail }) => [to, mail.headers.get('subject')]),
      [['gealice@example.org', `Job ${job} (wanted): exit status 3`]],
    );
    assert.ok(sink.mails[0]?.mail.text.includes(ASKED_FOR));
  } finally {
    await stop();
    sink.end();
  }
}

describe('a mail at the end of a job, on a real Grid Engine', () => {
  it('is sent for a job that asks for one, and for no other', { timeout: 2_000_000 }, async (t) => {
    await withSite(t, { execHosts: 1 }, mailsOfJobs);
  });
});

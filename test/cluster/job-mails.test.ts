import assert from 'node:assert/strict';
import { dirname } from 'node:path';
import { describe, it } from 'node:test';
import { ASKED_FOR } from '../../src/cli/job-mails/job-mail';
import { mailSettings, startSink } from './mail-sink';
import { serveOnMaster } from './serving';
import { withSite, wordFor, type Site } from './site';
import { until } from '../support/until';

const MASTER = 'ge0';
const ASKS = ['-ac', 'qmemacct=mail'];

/** A job that ends with status 3 when the server knows that it has asked for a mail. */
async function askedJob({ cell, product }: Site, name: string): Promise<string> {
  const word = wordFor(cell, 'gealice', name);
  const options = ['-N', name, ...ASKS, '-l', 'h_vmem=1G'];
  const job = await cell.submit('gealice', options, `${word.wait}; exit 3`);
  const isKnown = `grep -qs '"job":${job},' ${dirname(product.accounting)}/job-mails/asked.json`;
  await until(async () => (await cell.on(MASTER, isKnown)).status === 0, `job ${job} among those that asked`, 500);
  word.give();
  await cell.waitFinished(job);
  return job;
}

async function mailsOfJobs(site: Site): Promise<void> {
  const { cell } = site;
  const sink = await startSink(site, MASTER);
  const stop = await serveOnMaster(site, [...mailSettings, 'poll_interval = 1', 'usage_interval = 1']);
  try {
    await cell.submit('gealice', ['-N', 'silent', '-l', 'h_vmem=1G'], 'sleep 1');
    const jobs: string[] = [];
    for (const name of ['wanted', 'second']) {
      jobs.push(await askedJob(site, name));
      await until(() => sink.mails.length >= jobs.length, `a mail of job ${jobs.join(', ')}`);
    }
    assert.deepEqual(
      sink.mails.map(({ to, mail }) => [to, mail.headers.get('subject')]),
      ['wanted', 'second'].map((name, index) => [
        'gealice@example.org',
        `Job ${jobs[index] ?? ''} (${name}): exit status 3`,
      ]),
    );
    for (const { mail } of sink.mails) assert.ok(mail.text.includes(ASKED_FOR), mail.text);
  } finally {
    await stop();
    sink.end();
  }
}

describe('a job that asks for a mail at its end', () => {
  it('gets one, once, and no other job does', { timeout: 900_000 }, async (t) => {
    await withSite(t, {}, mailsOfJobs);
  });
});

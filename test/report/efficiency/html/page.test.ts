import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { renderReportHtml } from '../../../../src/report/efficiency/html/page';
import type { Report } from '../../../../src/report/efficiency/report';
import { emptyRecord, type JobRecord } from '../../../../src/record/record';
import { ordinary } from '../../sample-records';
import { HOSTILE } from '../sample-cluster';
import { sampleReport } from '../sample-report';
import { temporaryDirectory } from '../../../support/temporary-directory';
import { PATIENCE_MS } from '../../../support/until';
import { anyCharacter } from '../../../support/any-character';

process.env.TZ = 'Europe/Berlin';

const BROWSER = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
const missing = BROWSER === undefined ? 'no Chromium on this machine' : false;

/** Every tag that the document has. */
const tagsOf = (html: string): ReadonlySet<string> =>
  new Set([...html.matchAll(/<\/?([a-z0-9]+)/gi)].map(([, tag]) => (tag ?? '').toLowerCase()));

const OURS = new Set('html head meta title style body table tr th td div span p h1 h2 bdi br strong code'.split(' '));

function withNames(report: Report, text: string): Report {
  const [group, ...groups] = report.groups;
  const [waster, ...wasters] = report.wasters;
  if (group === undefined || waster === undefined) throw new Error('an empty report');
  return {
    ...report,
    clusters: [text],
    groups: [{ ...group, name: text }, ...groups],
    wasters: [{ ...waster, name: text }, ...wasters],
    silent_nodes: [{ host: text, kind: 'lost', records: 1, last_at: null }],
    hosts_without_jobs: [text],
    host_problems: [{ cluster: text, host: text, state: 'warning', problems: [text] }],
  };
}

describe('renderReportHtml', () => {
  it('loads nothing, runs nothing, and is short enough for a mail', async () => {
    const html = renderReportHtml(await sampleReport());
    assert.ok(!/\s(?:src|href|action|srcset|background)="|url\(|@import/i.test(html));
    assert.deepEqual(
      [...tagsOf(html)].filter((tag) => !OURS.has(tag)),
      [],
    );
    // Gmail cuts off after 102 kB.
    assert.ok(html.length < 90_000, String(html.length));
    assert.ok(html.includes('content="default-src &#39;none&#39;'));
  });

  it('makes any name harmless', async () => {
    const report = await sampleReport();
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ unit: anyCharacter })), (text) => {
        const html = renderReportHtml(withNames(report, `${text}<script>"'>&\u202e</title></style>`));
        assert.deepEqual(
          [...tagsOf(html)].filter((tag) => !OURS.has(tag)),
          [],
        );
        assert.ok(!/[\u202a-\u202e\u2066-\u2069]|(?!\n)\p{Cc}/u.test(html));
      }),
      { numRuns: 50 },
    );
  });

  it("shows all of a host's problems", async () => {
    const problems = ['no heartbeat for 1d 0h', 'a source fails: ipmi', 'the clock is 12 s ahead', '<b>\u202e'];
    const host_problems = [{ cluster: 'cell', host: 'node03', state: 'critical', problems }] as const;
    assert.ok(
      renderReportHtml({ ...(await sampleReport()), host_problems }).includes(
        'no heartbeat for 1d 0h; a source fails: ipmi; the clock is 12 s ahead; &lt;b&gt;\\u202e<',
      ),
    );
  });

  it('renders a report without jobs, and one without a known figure', async () => {
    assert.ok(renderReportHtml(await sampleReport({}, [])).includes('No job ended in this time.'));
    const bare: JobRecord = { ...emptyRecord(ordinary, 'finished', 'accounting', 1), ended_at: '2026-11-20T12:00:00Z' };
    assert.ok(renderReportHtml(await sampleReport({}, [bare])).includes('Waste is unknown: no job has a peak'));
  });

  it('is shown by a real browser without a message on the console', { skip: missing }, async () => {
    const directory = temporaryDirectory();

    const page = join(directory, 'report.html');
    // The browser's own view of the document: its text, and whether a name became an element.
    const hostile = withNames(await sampleReport(), HOSTILE.name);
    writeFileSync(page, renderReportHtml(hostile));
    const { status, stdout, stderr } = spawnSync(
      BROWSER ?? '',
      [
        '--headless',
        '--no-sandbox',
        '--disable-gpu',
        '--disable-background-networking',
        '--enable-logging=stderr',
        `--user-data-dir=${join(directory, 'profile')}`,
        '--dump-dom',
        `file://${page}`,
      ],
      { encoding: 'utf8', timeout: PATIENCE_MS },
    );
    assert.equal(status, 0, stderr);
    assert.doesNotMatch(stderr, /CONSOLE/);
    assert.match(stdout, /Largest waste, and the jobs that make it/);
    assert.match(stdout, /segment_3/);
    assert.deepEqual(
      [...tagsOf(stdout)].filter((tag) => !OURS.has(tag) && tag !== 'tbody'),
      [],
    );
  });
});

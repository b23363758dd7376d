import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { renderReportHtml } from '../../../src/report/efficiency/html/page';
import type { JobRecord } from '../../../src/record/record';
import { limitOf } from '../../../src/record/request';
import { displayWidth } from '../../../src/report/screen/text-width';
import { renderReport } from '../../../src/report/efficiency/text';
import { assertGolden } from '../golden';
import { ordinary } from '../sample-records';
import { testScreen } from '../screens';
import { NIGHT } from './sample-cluster';
import { sampleReport } from './sample-report';

const GIB = 2 ** 30;

process.env.TZ = 'Europe/Berlin';

describe('renderReport', () => {
  it('shows a night of a site', async () =>
    assertGolden('report-night', renderReport(await sampleReport(), testScreen())));

  it("shows one owner's jobs on a narrow ASCII terminal", async () =>
    assertGolden(
      'report-owner',
      renderReport(await sampleReport({ owner: 'ljensen', by: 'job_name' }), testScreen({ width: 72, unicode: false })),
    ));

  it('keeps to any width, and prints no control characters', async () => {
    const one = await sampleReport({ by: 'job_name' });
    const large = <Value>(value: Value): Value =>
      (typeof value === 'number' && value > 1 ? value * 1e5 : value) as Value;
    const groups = one.groups.map(({ name, sums }) => ({
      name,
      sums: Object.fromEntries(Object.entries(sums).map(([figure, value]) => [figure, large(value)])) as typeof sums,
    }));
    const report = { ...one, groups };
    for (const [width, unicode] of [
      [60, true],
      [80, false],
      [140, true],
    ] as const)
      for (const line of renderReport(report, testScreen({ width, unicode }))) {
        assert.ok(displayWidth(line) <= width, line);
        assert.doesNotMatch(line, unicode ? /\p{C}/u : /[^ -~]/);
      }
  });

  it('names only the first of many silent nodes, as of other hosts', async () => {
    const report = await sampleReport({ by: 'job_name' });
    const silent = Array.from({ length: 25 }, (_item, index) => `node${index + 100}`);
    const silent_nodes = silent.map((host) => ({ host, kind: 'unsampled', records: 1, last_at: null }) as const);
    const text = renderReport({ ...report, silent_nodes }, testScreen()).join('\n');
    assert.deepEqual(text.match(/^ {2}node1\d\d /gm)?.length, 20);
    assert.match(text, /And 5 more: --format json has them all\./);
  });

  it('says of peaks only what the records with a known peak show, on the screen and in mails', async () => {
    const end = new Date(NIGHT.since.getTime() + 3_600_000).toISOString();
    const peak = ordinary.peak_rss ?? assert.fail();
    const full = { ...ordinary, ended_at: end, peak_rss: { ...peak, lower_bytes: limitOf(ordinary) ?? 0 } };
    const unknown = { ...ordinary, ended_at: end, run_id: '1f2e3d4c.2.2', job_id: 2, peak_rss: null };
    const renderedOf = async (records: readonly JobRecord[]): Promise<string> => {
      const report = await sampleReport({}, records);
      const text = renderReport(report, testScreen()).join(' ').replace(/ +/g, ' ');
      const html = renderReportHtml(report).replaceAll('&#39;', "'");
      for (const said of [text, html]) {
        assert.doesNotMatch(said, /Largest waste|next time/i);
        assert.equal(said.includes("No job's peak was under"), !records.includes(unknown));
      }
      return `${text}\n${html}`;
    };
    const twice = (said: string, words: string): void => {
      assert.equal(said.split(words).length, 3, words);
    };
    const none = await renderedOf([unknown]);
    twice(none, 'Waste is unknown: no job has a peak.');
    twice(none, "No job's peak was measured.");
    assert.doesNotMatch(none, /requested above the peaks/);
    const some = await renderedOf([full, unknown]);
    twice(some, 'No requested memory was wasted by the 1 record (of 2) with a known peak.');
    twice(some, 'None of the 1 record (of 2) with a known peak was under 25 % of its limit.');
    twice(await renderedOf([full]), 'No requested memory was wasted.');
  });

  it('shows each share beside its base, where some jobs have no sample or no request', async () => {
    const end = NIGHT.since.getTime() + 3_600_000;
    const peak = ordinary.peak_rss ?? assert.fail();
    const jobOf = (job_id: number, asked: number | null, held: number | null): JobRecord => ({
      ...ordinary,
      job_id,
      run_id: `1f2e3d4c.${job_id}.2`,
      started_at: new Date(end - 3_600_000).toISOString(),
      ended_at: new Date(end).toISOString(),
      wallclock_seconds: 3600,
      host_slots: 1,
      h_vmem: asked === null ? null : { request_bytes: asked * GIB, limit_bytes: asked * GIB, per: 'slot' },
      requests: {},
      peak_rss: held === null ? null : { ...peak, lower_bytes: held * GIB },
      rss_byte_seconds: held === null ? null : (held / 2) * GIB * 3600,
    });
    const report = await sampleReport({}, [jobOf(1, 20, 10), jobOf(2, 80, null), jobOf(3, null, 7)]);
    const text = renderReport(report, testScreen());
    const has = (line: RegExp): void => {
      assert.ok(
        text.some((one) => line.test(one)),
        String(line),
      );
    };
    has(/Memory, mean .* 5\.00 of 20\.0 GiB·h +25 %/);
    has(/Memory, peak .* 10\.0 of 20\.0 GiB·h +50 %/);
    has(/1 record without a known peak \(80\.0 of 100 GiB·h/);
    // Requests equal limits here: a column of limits would repeat that of requests.
    has(/requested +with peak +peak +mean +peak % +mean % +waste/);
    has(/ 100 +20\.0 +10\.0 +5\.00 +50 % +25 % +10\.0/);
    const html = renderReportHtml(report);
    assert.match(html, /10\.0 of 20\.0 GiB·h requested; 25 % on average/);
    assert.match(html, />with peak</);
    assert.doesNotMatch(renderReportHtml(await sampleReport({}, [jobOf(1, 20, 10)])), />with peak</);
  });

  it('shows limits beside requests where they differ, on the screen and in mails', async () => {
    const report = await sampleReport();
    const groups = report.groups.map(({ name, sums }) => {
      return { name, sums: { ...sums, limit_gib_hours: 2 * sums.requested_gib_hours } };
    });
    const shownOf = (one: typeof report): readonly boolean[] => [
      renderReport(one, testScreen({ width: 140 })).some((line) => /requested +limit +with peak/.test(line)),
      />requested<\/th>\s*<th[^>]*>limit</.test(renderReportHtml(one)),
    ];
    assert.deepEqual(shownOf(report), [false, false]);
    assert.deepEqual(shownOf({ ...report, groups }), [true, true]);
  });

  it('says that no job ended in a period without jobs', async () => {
    const lines = renderReport(await sampleReport({}, []), testScreen());
    assert.equal(lines.at(-1), '  No job ended in this time.');
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sumTotals, NO_TOTALS } from '../../../src/accounting/add-summaries';
import { displayWidth } from '../../../src/report/screen/text-width';
import { RANKING_NAMES, RANKINGS } from '../../../src/report/records/ranking';
import {
  rankGroups,
  renderRankings,
  renderTop,
  renderTopCsv,
  renderTopJson,
  type TopReport,
} from '../../../src/report/records/top';
import { memoryReader } from '../../accounting/memory-reader';
import { assertGolden } from '../golden';
import { MANY_OWNERS } from '../many-owners';
import { after, hostile } from '../sample-records';
import { testScreen } from '../screens';

process.env.TZ = 'Europe/Berlin';

const interval = { since: new Date(after(-6 * 86_400)), until: new Date(after(86_400)) };

async function topOwners(changes: Partial<TopReport> = {}): Promise<TopReport> {
  const filter = { since: interval.since.getTime(), until: interval.until.getTime() };
  const { groups, totals } = await memoryReader(MANY_OWNERS).summary({ ...filter, by: 'owner', self_reported: true });
  const by = changes.by ?? 'unused';
  const ranked = rankGroups(groups, RANKINGS[by]);
  const names = { one: 'owner', many: 'owners', filter: '' };
  return { ...names, ...interval, by, groups: ranked, all: ranked.length, totals, ...changes };
}

describe('renderTop', () => {
  it('ranks owners by the requested memory they left unused', async () =>
    assertGolden('top-owners', renderTop(await topOwners(), testScreen())));

  it('ranks by a count', async () =>
    assertGolden(
      'top-owners-by-failed',
      renderTop(await topOwners({ by: 'failed', filter: 'project genome' }), testScreen({ unicode: false })),
    ));

  it('keeps to any width in any ranking, and prints no control character', async () => {
    for (const by of RANKING_NAMES)
      for (const width of [60, 80, 140])
        for (const unicode of [true, false]) {
          const report = await topOwners({ by });
          const groups = [
            { key: `${hostile.owner ?? ''} and a name that goes on`, totals: report.totals },
            ...report.groups,
          ];
          for (const line of renderTop({ ...report, groups }, testScreen({ width, unicode }))) {
            assert.ok(displayWidth(line) <= width, `${by} ${width}: ${line}`);
            assert.doesNotMatch(line, unicode ? /\p{C}/u : /[^ -~]/);
          }
        }
  });

  it('says how many groups are left out', async () => {
    const report = await topOwners();
    const lines = renderTop({ ...report, groups: report.groups.slice(0, 1) }, testScreen());
    assert.equal(lines.at(-1), `1 of ${report.all} shown: --limit N`);
  });
});

describe('rankGroups', () => {
  it('sorts by size, then by name, and leaves out groups that have none', () => {
    const group = (key: string | null, failed: number): { key: string | null; totals: typeof NO_TOTALS } => ({
      key,
      totals: { ...NO_TOTALS, records: 5, failed },
    });
    const groups = [group('b', 1), group('none', 0), group('a', 1), group(null, 3)];
    assert.deepEqual(
      rankGroups(groups, RANKINGS.failed).map(({ key }) => key),
      [null, 'a', 'b'],
    );
  });
});

describe('unused memory', () => {
  const byGridEngine = {
    ...NO_TOTALS,
    records: 4,
    without_peak: 4,
    with_grid_engine: 4,
    requested_with_grid_engine_gib_hours: 20,
    grid_engine_gib_hours: 8,
    grid_engine_with_request_gib_hours: 8,
    unused_by_grid_engine_gib_hours: 12,
  };
  const sampled = { ...NO_TOTALS, records: 1, requested_with_peak_gib_hours: 3, peak_with_request_gib_hours: 1 };
  const group = (key: string, totals: typeof NO_TOTALS): { key: string; totals: typeof NO_TOTALS } => ({ key, totals });

  it("counts by Grid Engine's figure (~) without a peak, also where another job was sampled", async () => {
    const groups = [group('sampled', { ...sampled, unused_gib_hours: 2 }), group('imported', byGridEngine)];
    const totals = sumTotals({ ...sampled, unused_gib_hours: 2 }, byGridEngine);
    const report = await topOwners({ groups: rankGroups(groups, RANKINGS.unused), all: 2, totals });
    const text = renderTop(report, testScreen()).join('\n');
    assert.match(text, /^Top owners by unused memory/);
    assert.match(text, /imported +~12\.0 [^]*86 %[^]*sampled +2\.00 [^]*14 %/);
    assert.match(text, /4 records by Grid Engine's figure [^]*~8\.00 of 20\.0 GiB·h requested/);
    assert.match(renderTopJson(report), /"by":"unused","groups":\[\{"key":"imported","value":12,/);
  });
});

describe('renderTopJson, renderTopCsv', () => {
  it('give programs the figures of the screen', async () => {
    const report = await topOwners({ by: 'cpu' });
    const json = JSON.parse(renderTopJson(report)) as {
      readonly groups: readonly { readonly key: string; readonly value: number; readonly share: number }[];
    };
    assert.deepEqual(
      json.groups.map(({ key }) => key),
      report.groups.map(({ key }) => key),
    );
    assert.ok(Math.abs(json.groups.reduce((sum, { share }) => sum + share, 0) - 1) < 1e-9);
    const csv = renderTopCsv({ ...report, groups: [{ key: '=cmd()', totals: report.totals }] });
    assert.match(csv, /^owner,value,share,records,jobs,.*\n'=cmd\(\),/);
    assert.equal(csv.trimEnd().split('\n').length, 2);
  });
});

describe('the rankings', () => {
  it('are all listed by `--by help`', () => {
    const lines = renderRankings(testScreen({ width: 160 }));
    assert.equal(lines.length, RANKING_NAMES.length + 1);
    for (const line of renderRankings(testScreen({ width: 60 }))) assert.ok(line.length <= 60, line);
  });

  it('give 0 for empty totals, and add up', () => {
    const some = { ...NO_TOTALS, unused_gib_hours: 2, cpu_seconds: 3600 };
    for (const name of RANKING_NAMES) assert.equal(RANKINGS[name].of(NO_TOTALS), 0);
    assert.equal(RANKINGS.unused.of(sumTotals(some, some)), 4);
    assert.equal(RANKINGS.cpu.of(some), 1);
  });

  it('no group has more than all, even if another held more than it requested', async () => {
    const report = await topOwners();
    const [first] = report.groups;
    const totals = { ...report.totals, unused_gib_hours: 0.5 * (first?.totals.unused_gib_hours ?? 0) };
    assert.match(renderTopJson({ ...report, totals }), /"share":1,/);
    assert.match(renderTop({ ...report, totals }, testScreen()).join('\n'), / 100 % /);
  });
});

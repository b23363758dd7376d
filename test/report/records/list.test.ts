import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JobRecord } from '../../../src/record/record';
import { noTotals, type Totals } from '../../../src/record/totals';
import { displayWidth } from '../../../src/report/screen/text-width';
import { MANY_OWNERS_COLUMNS, OWNER_COLUMNS } from '../../../src/report/records/columns';
import { toJobLines, toLines } from '../../../src/report/records/lines';
import { renderRecordList } from '../../../src/report/records/list';
import { tenMinutesOf } from '../bad-ends';
import { assertGolden } from '../golden';
import {
  after,
  arrayOfTwenty,
  firstRun,
  hostile,
  killedAtLimit,
  lost,
  mpiMaster,
  mpiTask,
  ordinary,
  reservingOnly,
  running,
  selfReported,
  unsampled,
} from '../sample-records';
import { testScreen } from '../screens';

process.env.TZ = 'Europe/Berlin';

const records = [ordinary, firstRun, killedAtLimit, unsampled, lost, running, selfReported, hostile, ...arrayOfTwenty];

const totals: Totals = {
  ...noTotals(),
  records: 28,
  jobs: 27,
  running: 1,
  requested_gib_hours: 64.7,
  requested_with_used_gib_hours: 62.1,
  requested_with_peak_gib_hours: 64.7,
  used_gib_hours: 9.29,
  used_with_request_gib_hours: 9.29,
  peak_gib_hours: 12.2,
  peak_with_request_gib_hours: 12.2,
  unused_gib_hours: 52.5,
  cpu_seconds: 70_000,
  slot_seconds: 90_000,
  far_below: 4,
  without_peak: 1,
  with_grid_engine: 1,
  requested_with_grid_engine_gib_hours: 8,
  grid_engine_gib_hours: 6,
  grid_engine_with_request_gib_hours: 6,
  unused_by_grid_engine_gib_hours: 2,
  without_used: 2,
};

const view = { columns: OWNER_COLUMNS, chosen: false, width: 100 };

const report = {
  title: 'Jobs of bob',
  view,
  since: new Date(after(-6 * 86_400)),
  until: new Date(after(86_400)),
  lines: toLines(records, 'time'),
  totals,
  all: totals.records,
};

describe('renderRecordList', () => {
  it('counts many ways to end badly together: named one by one they took the room of other columns', () => {
    const statuses = [0, 0, 0, 1, 2, 3, 137];
    const tasks = arrayOfTwenty.map((task, index) => {
      const status = statuses[index % statuses.length] ?? 0;
      return { ...task, exit_status: status, signal: status > 128 ? status - 128 : 0 };
    });
    const lines = renderRecordList({ ...report, lines: toJobLines(tasks, 'time') }, testScreen());
    assert.match(lines.join('\n'), /^4720 ×20 .* 11 failed, 9 ok$/m);
  });

  it('shows one line per record', () => assertGolden('owner', renderRecordList(report, testScreen())));

  it('names the complexes that the limits of the listed jobs come from', () => {
    const text = (...shown: readonly JobRecord[]): string =>
      renderRecordList({ ...report, lines: toLines(shown, 'time') }, testScreen()).join('\n');
    assert.match(text(reservingOnly), /\nlimit: mem_free on the host; peak/);
    assert.match(text(reservingOnly), /16 GiB +≥ 1\.53 GiB +9\.6 %/);
    assert.match(text(reservingOnly, ordinary), /\nlimit: h_vmem, mem_free on the host; peak/);
    assert.match(text({ ...ordinary, h_vmem: null, requests: {} }), /\npeak: resident memory\n/);
    const lines = toLines([reservingOnly, ordinary], 'time');
    const chosen = { ...report, lines, view: { columns: ['job', 'request'] as const, chosen: true, width: 100 } };
    assert.match(renderRecordList(chosen, testScreen()).join('\n'), /4721 +mem_free 4 GiB\n4711 +4 GiB\n/);
  });

  it('shows the energy that sums count, of the memory alone, too', () => {
    const charged = { ...ordinary, metrics: { energy_dram_joules: 3_600_000 } };
    const chosen = { columns: ['job', 'energy'], chosen: true, width: 100 } as const;
    const text = renderRecordList({ ...report, lines: toLines([charged], 'time'), view: chosen }, testScreen());
    assert.match(text.join('\n'), /\n4711 +1\.00\n/);
  });

  it('shows one line per job', () =>
    assertGolden('owner-by-job', renderRecordList({ ...report, lines: toJobLines(records, 'unused') }, testScreen())));

  it('names a parallel job whose slave task ended last', () => {
    const lines = toJobLines([{ ...mpiMaster(1), ended_at: after(5000) }, mpiTask(1)], 'time');
    const text = renderRecordList({ ...report, lines }, testScreen()).join('\n');
    assert.match(text, /\(1 slave task\) +cfd_solve /);
  });

  it('keeps to 60 and 80 columns, and prints no control character', () => {
    const views = [OWNER_COLUMNS, MANY_OWNERS_COLUMNS].flatMap((columns) =>
      [toLines(records, 'time'), toJobLines(records, 'time')].map((lines) => ({ columns, lines })),
    );
    for (const { columns, lines } of views)
      for (const width of [60, 80])
        for (const unicode of [true, false])
          for (const line of renderRecordList(
            { ...report, lines, view: { columns, chosen: false, width } },
            testScreen({ width, unicode }),
          )) {
            assert.ok(displayWidth(line) <= width, line);
            assert.doesNotMatch(line, unicode ? /\p{C}/u : /[^ -~]/);
          }
  });

  it('shows one line per job on 60 columns', () => {
    const lines = toJobLines(records, 'time');
    const screen = testScreen({ width: 60 });
    assertGolden('narrow/owner-by-job', renderRecordList({ ...report, lines, view: { ...view, width: 60 } }, screen));
  });

  it('says how many records are not shown', () => {
    const others = records.filter(({ trust }) => trust !== 'self-reported');
    const lines = renderRecordList({ ...report, lines: toLines(others.slice(0, 5), 'time') }, testScreen());
    assert.equal(lines.at(-1), '5 of 28 records shown: --limit N, --sort KEY');
    const own = { ...report, lines: toLines([selfReported], 'time'), all: 0 };
    assert.equal(
      renderRecordList({ ...own, more: true }, testScreen()).at(-1),
      'only 1 record shown: --limit N, --sort KEY',
    );
    assert.doesNotMatch(renderRecordList(own, testScreen()).join('\n'), /records shown/);
  });

  it("shows Grid Engine's figure where no peak was measured, marked with ~", () => {
    const counted = { ...unsampled, peak_rss: null, grid_engine: tenMinutesOf({ maxvmem_bytes: 6 * 1024 ** 3 }) };
    const lines = renderRecordList({ ...report, lines: toLines([ordinary, counted], 'time') }, testScreen()).join('\n');
    assert.match(lines, /tiny\.sh .* ~6\.00 GiB /);
    assert.match(
      lines.replaceAll(/\s+/g, ' '),
      /1 record by Grid Engine's figure \(~, maxvmem: .*\), in sums of their own: ~6\.00 of 8\.00 GiB·h requested\./,
    );
    assert.match(lines, /tiny\.sh .* ~[\d.]+ +ok/);
    assert.equal(lines.match(/~\d/g)?.length, 3);
  });

  it('prints totals of small jobs in small units', () => {
    const small = {
      ...totals,
      used_gib_hours: 0.0002,
      used_with_request_gib_hours: 0.0002,
      requested_with_used_gib_hours: 0.00045,
      cpu_seconds: 1.2,
      slot_seconds: 1.5,
    };
    const text = renderRecordList({ ...report, totals: small }, testScreen()).join('\n');
    assert.match(text, /210 of 472 KiB·h +44 %/);
    assert.match(text, /1\.20 of 1\.50 slot·s +80 %/);
  });

  it('renders totals that are all 0', () => {
    const none = Object.fromEntries(Object.keys(totals).map((name) => [name, 0])) as Record<keyof Totals, number>;
    assert.match(renderRecordList({ ...report, totals: none }, testScreen()).join('\n'), /0 GiB·h, nothing requested/);
    const unsampledOnly = renderRecordList({ ...report, totals: { ...none, requested_gib_hours: 5 } }, testScreen());
    assert.match(unsampledOnly.join('\n'), /5\.00 GiB·h requested, use unknown/);
  });
});

describe('toLines, toJobLines', () => {
  it('put the latest job first', () => {
    const ended = toLines([killedAtLimit, ordinary, running], 'time').map(([record]) => record.job_id);
    assert.deepEqual(ended, [running.job_id, ordinary.job_id, killedAtLimit.job_id]);
  });

  it('have one line of a job that was rescheduled, so submitted anew, and another of a user who claims it', () => {
    const again = { ...ordinary, run_id: 'again.1', submitted_at: ordinary.ended_at, started_at: ordinary.ended_at };
    const claimed = { ...again, run_id: 'claimed.1', owner: 'eve', trust: 'self-reported' } as const;
    assert.deepEqual(
      toJobLines([ordinary, again, claimed], 'time').map((line) => line.map(({ run_id: run }) => run)),
      [['claimed.1'], [ordinary.run_id, 'again.1']],
    );
  });

  it('put the array with the largest sum first', () => {
    const [first] = toJobLines([selfReported, ...arrayOfTwenty], 'unused');
    assert.equal(first?.length, 20);
  });
});

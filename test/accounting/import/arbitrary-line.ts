import fc from 'fast-check';
import type { PlacedLine } from '../../../src/accounting/import/line-place';
import type { AccountingRecord } from '../../../src/gridengine/accounting-line';

/** Accounting lines as the reader returns them, for property tests. */

const START = 1_763_700_000_000;

const name = fc.oneof(
  fc.constantFrom('all.q', 'alice', 'run.sh', 'a "quoted" name', "'; DROP TABLE record; --", '\u001b[31mred', 'Müller'),
  fc.string({ minLength: 1, maxLength: 20 }).filter((text) => !text.includes('\0') && text !== 'NONE'),
);
const seconds = fc.oneof(
  fc.nat({ max: 1e6 }),
  fc.nat({ max: 1e9 }).map((us) => us / 1e6),
  fc.nat({ max: 1e9 }).map((ms) => ms / 1000),
);
const orNull = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(value, { freq: 3 });
const category = fc.oneof(
  fc.constantFrom('-l h_vmem=1G', '-l h_vmem=4G,h_rt=24:00:00 -pe smp 4', '-U a -l mem_free=2g,h_vmem=512M', '-q a.q'),
  fc.constantFrom('-l h_vmem=INFINITY', '-l h_vmem=99999999T', '-l h_rss=1,s_vmem=x,h_vmem=-1', '-l =,==,h_vmem'),
  name,
);

/** A random line; with few `jobs` many lines are of the same job. */
export function arbitraryLine(jobs = 1e6): fc.Arbitrary<AccountingRecord & Pick<PlacedLine, 'place'>> {
  return fc
    .record({
      jobId: fc.integer({ min: 1, max: jobs }),
      task: fc.constantFrom(0, 0, 0, 1, 2, 75000),
      peTaskId: fc.constantFrom(null, null, null, '1.ge1', '2.ge2'),
      queue: fc.oneof(fc.constantFrom('all.q', 'UNKNOWN', '(null)', ''), name),
      host: fc.constantFrom('ge1', 'ge1', 'ge2', 'ge1.example', '(null)'),
      owner: fc.constantFrom('alice', 'alice', 'bob'),
      jobName: name,
      account: fc.oneof(fc.constant('sge'), fc.constant(''), name),
      project: orNull(name),
      pe: fc.constantFrom(null, null, 'smp'),
      slots: fc.constantFrom(1, 1, 1, 4, 0),
      submissionTimeMs: fc.constantFrom(START - 10_000, START, null),
      start: orNull(fc.integer({ min: 0, max: 12 }).map((tick) => START + 500 * tick)),
      place: fc.constantFrom('1763700000.0123abcd.0', '1763700000.0123abcd.1', '0.89abcdef.0'),
      runs: fc.oneof(fc.nat({ max: 100_000 }), fc.nat({ max: 500_000_000 })),
      failed: fc.constantFrom(0, 0, 0, 0, 100, 37, 8, 26, 77),
      exitStatus: fc.constantFrom(0, 0, 0, 1, 99, 137, 139, 255, -1),
      hasWallclock: fc.boolean(),
      cpuSeconds: seconds,
      userSeconds: seconds,
      systemSeconds: seconds,
      memGibSeconds: seconds,
      ioGib: seconds,
      maxrssBytes: fc.nat().map((kib) => kib * 1024),
      jobMaxrssBytes: orNull(fc.nat()),
      maxvmemBytes: orNull(fc.oneof(fc.nat(), fc.constant(2 ** 30))),
      category: orNull(category),
      submitCommand: orNull(fc.constantFrom('qsub sim.sh', `qsub -v A ${'x'.repeat(5000)}`)),
      deletedBy: orNull(fc.constantFrom('root@ge0', 'bob@login1,root@ge0')),
    })
    .map(({ start, runs, hasWallclock, place, ...rest }) => ({
      ...rest,
      ...(start === null ? { place } : {}),
      startTimeMs: start,
      endTimeMs: start === null ? null : start + runs,
      wallclockSeconds: start === null || !hasWallclock ? 0 : runs / 1000,
    }));
}

import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { checkPerf } from '../../../src/cli/doctor/check-perf';
import type { Finding } from '../../../src/cli/doctor/finding';
import { PerfErrno } from '../../../src/native/perf-error';
import { parseSettings } from '../../../src/record/settings';
import { isUnavailable } from '../../../src/sources/source';
import { temporaryDirectory } from '../../support/temporary-directory';
import { fakePerf, placeOf, type FakePerf } from '../../sources/job/perf-fixtures';

// No hardware counters were at hand: fake system calls stand in for the kernel and its CPU.

const briefly = (findings: readonly Finding[]): string[] =>
  findings.map(({ severity, name, says, fix }) => `${severity} ${name}: ${says}${fix === null ? '' : ` > ${fix}`}`);

const ON = '[sources.perf]\nenabled = true\n';
const HARDWARE = 0;

function procWith(paranoid: number): string {
  const proc = temporaryDirectory();
  mkdirSync(join(proc, 'sys', 'kernel'), { recursive: true });
  writeFileSync(join(proc, 'sys', 'kernel', 'perf_event_paranoid'), `${paranoid}\n`);
  return proc;
}

const check = (toml: string, calls: FakePerf) =>
  checkPerf({ settings: parseSettings(toml, 'x') }, placeOf('intel-xeon', procWith(2)), calls);

describe('doctor on perf events', () => {
  it('names the events that open, whether the source is on or off', () => {
    const { findings, perf } = check(ON, fakePerf());
    assert.deepEqual(briefly(findings), [
      'ok events: task_clock, context_switches, cpu_migrations, page_faults, cpu_cycles, instructions, cache_references, cache_misses, branch_misses: open; kernel.perf_event_paranoid is 2',
    ]);
    assert.deepEqual(perf, { found: '9 of 9 events' });
    assert.match(check('', fakePerf()).findings[0]?.says ?? '', /would open, were the source switched on; /);
  });

  it('puts the events that the CPU lacks into one note', () => {
    const calls = fakePerf({ refuse: ({ type }) => (type === HARDWARE ? PerfErrno.ENOENT : undefined) });
    const { findings, perf } = check(ON, calls);
    assert.deepEqual(briefly(findings).slice(1), [
      'note events: cpu_cycles, instructions, cache_references, cache_misses, branch_misses: this CPU has no such counter > in a virtual machine: give it a virtual PMU',
    ]);
    assert.deepEqual(perf, { found: '4 of 9 events' });
    assert.equal(calls.alive.size, 0);
  });

  it('warns of unknown events', () => {
    const toml = '[sources.perf]\nenabled = true\nevents = ["page_faults", "cpu_cicles", "nosuch/x=1/"]\n';
    const lines = briefly(check(toml, fakePerf()).findings);
    assert.match(lines[1] ?? '', /^warning events: "?cpu_cicles"?: .*no such event > see "qmemacct metrics"/);
    assert.match(lines[2] ?? '', /^warning events: nosuch\/x=1\/: no PMU "nosuch"/);
  });

  it('gives the reason and the fix where no event opens', () => {
    const refused = fakePerf({ refuse: () => PerfErrno.EACCES });
    const { findings, perf } = check(ON, refused);
    assert.match(
      briefly(findings)[0] ?? '',
      /^warning events: none opens: .*permission denied.*perf_event_paranoid is 2.* > run the hooks as root, or lower/,
    );
    assert.ok(isUnavailable(perf));
    assert.equal(check('', refused).findings[0]?.severity, 'note');
    const none = checkPerf(
      { settings: parseSettings(ON, 'x') },
      placeOf('intel-xeon'),
      fakePerf({ refuse: () => PerfErrno.ENOSYS }),
    );
    assert.match(briefly(none.findings)[0] ?? '', /^note events: none opens: .*no perf events; .* is not there$/);
    assert.match(
      briefly(check('[sources.perf]\nenabled = true\nevents = []\n', fakePerf()).findings)[0] ?? '',
      /^warning events: none opens: no perf events are named; .* > name some/,
    );
  });
});

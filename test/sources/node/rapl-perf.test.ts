import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseEventConfig, raplPerf, type OpenCounter } from '../../../src/sources/node/rapl-perf';
import { isUnavailable, unavailable } from '../../../src/sources/source';
import { opened, plant, values } from './tree';
import { anyCharacter } from '../../support/any-character';

// No machine with a PMU "power" was at hand: its files are fixture trees, its counters fakes.
interface FakePmu {
  readonly open: OpenCounter;
  readonly asked: string[];
  readonly closed: string[];
  readonly raw: Map<string, number>;
}

function fakePmu(refuse: (key: string) => boolean = () => false): FakePmu {
  const asked: string[] = [];
  const closed: string[] = [];
  const raw = new Map<string, number>();
  const open: OpenCounter = (type, config, cpu) => {
    const key = `${type}/${config}@${cpu}`;
    asked.push(key);
    if (refuse(key)) return unavailable('perf_event_open: EACCES', 'run the hooks as root');
    return { read: () => raw.get(key) ?? 0, close: () => void closed.push(key) };
  };
  return { open, asked, closed, raw };
}

describe('raplPerf', () => {
  it('opens each event once per package and scales its count', (t) => {
    const pmu = fakePmu();
    const read = opened(t, raplPerf(pmu.open), plant('xeon-2s-linux-5.14').place());
    assert.deepEqual(pmu.asked.sort(), ['25/2@0', '25/2@1', '25/3@0', '25/3@1']);
    pmu.raw.set('25/2@1', 2 ** 32 * 7);
    pmu.raw.set('25/3@0', 2 ** 31);
    assert.deepEqual(values(read()), {
      'raplperf_energy_joules package-0': 0,
      'raplperf_energy_joules package-0/dram': 0.5,
      'raplperf_energy_joules package-1': 7,
      'raplperf_energy_joules package-1/dram': 0,
    });
  });

  it('names the domains of a client CPU as powercap does', (t) => {
    const read = opened(t, raplPerf(fakePmu().open), plant('desktop-linux-6.8').place());
    assert.deepEqual(Object.keys(values(read())), [
      'raplperf_energy_joules package-0',
      'raplperf_energy_joules package-0/core',
      'raplperf_energy_joules package-0/uncore',
      'raplperf_energy_joules psys',
    ]);
  });

  it('keeps dies of one package apart', (t) => {
    const read = opened(t, raplPerf(fakePmu().open), plant('epyc-2s-linux-5.12').place());
    assert.deepEqual(Object.keys(values(read())), [
      'raplperf_energy_joules package-0-die-0',
      'raplperf_energy_joules package-0-die-1',
      'raplperf_energy_joules package-1-die-8',
      'raplperf_energy_joules package-1-die-9',
    ]);
  });

  it('goes on with the counters that open, and leaves out a counter that can no longer be read', (t) => {
    const pmu = fakePmu((key) => key.startsWith('25/3'));
    const read = opened(t, raplPerf(pmu.open), plant('xeon-2s-linux-5.14').place());
    assert.equal(Object.keys(values(read())).length, 2);
    pmu.raw.set('25/2@0', NaN);
    assert.deepEqual(Object.keys(values(read())), ['raplperf_energy_joules package-1']);
    pmu.raw.set('25/2@1', -1);
    assert.ok(isUnavailable(read()));
  });

  it('says why no counter opens, and closes each counter that does', () => {
    const place = plant('xeon-2s-linux-5.14').place();
    assert.deepEqual(
      raplPerf(fakePmu(() => true).open).open(place),
      unavailable('perf_event_open: EACCES', 'run the hooks as root'),
    );
    const pmu = fakePmu();
    const open = raplPerf(pmu.open).open(place);
    assert.ok(!isUnavailable(open));
    open.close();
    assert.deepEqual(pmu.closed.sort(), pmu.asked.sort());
  });

  it('is unavailable without the PMU, and with events of another unit', () => {
    const none = raplPerf(fakePmu().open).open(plant('grace-linux-6.8').place());
    assert.ok(isUnavailable(none));
    assert.match(none.unavailable, /no PMU "power"/);
    const tree = plant('epyc-2s-linux-5.12');
    tree.write('sys/bus/event_source/devices/power/events/energy-pkg.unit', 'Furlongs\n');
    assert.ok(isUnavailable(raplPerf(fakePmu().open).open(tree.place())));
  });
});

describe('parseEventConfig', () => {
  it('reads an event as sysfs writes it', () => {
    assert.equal(parseEventConfig('event=0x02\n'), 2);
    assert.equal(parseEventConfig('event=0x02,umask=1\n'), null);
  });

  it('returns a whole number or null for any text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: anyCharacter }), fc.stringMatching(/^[0-9,-]{0,30}$/)), (text) => {
        const config = parseEventConfig(`event=${text}`);
        assert.ok(config === null || Number.isSafeInteger(config));
      }),
    );
  });
});

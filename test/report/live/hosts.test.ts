import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { HostView } from '../../../src/live/cluster-view';
import { displayWidth } from '../../../src/report/screen/text-width';
import { renderHosts, type HostsReport } from '../../../src/report/live/hosts';
import { totalHosts } from '../../../src/report/live/host-totals';
import { GIB } from '../../live/snapshots';
import { assertGolden } from '../golden';
import { liveScreen, sampleView } from './sample-view';

process.env.TZ = 'Europe/Berlin';

const view = sampleView();
const plain: HostsReport = { view, hosts: view.hosts, details: false };
const detailed: HostsReport = { ...plain, details: true };

const BARE: HostView = {
  name: 'node01',
  up: true,
  processors: 16,
  load: 1,
  memoryTotal: 64 * GIB,
  memoryUsed: 8 * GIB,
  swapTotal: 0,
  swapUsed: 0,
  slots: 16,
  slotsUsed: 4,
  complex: 'h_vmem',
  capacity: 64 * GIB,
  free: 32 * GIB,
  requested: 32 * GIB,
  peak: 16 * GIB,
  used: 8 * GIB,
  unlimited: 0,
  strandedMemory: 0,
  strandedSlots: 0,
  queues: [],
  parts: [],
};
const lineOf = (host: Partial<HostView>, width = 160, unicode = true): string => {
  const hosts = [{ ...BARE, ...host }];
  return renderHosts({ view: { ...view, hosts }, hosts, details: false }, liveScreen({ width, unicode }))[3] ?? '';
};

describe('renderHosts', () => {
  it('shows a line per host', () => assertGolden('hosts', renderHosts(plain, liveScreen())));
  it('on a narrow screen', () => assertGolden('hosts-narrow', renderHosts(plain, liveScreen({ width: 60 }))));
  it('on a wide screen', () => assertGolden('hosts-wide', renderHosts(plain, liveScreen({ width: 160 }))));
  it('in colour', () => assertGolden('hosts-colour', renderHosts(plain, liveScreen({ colour: true }))));
  it('with jobs and tasks', () => assertGolden('hosts-jobs', renderHosts(detailed, liveScreen())));
  it('with jobs on a narrow screen, in ASCII', () =>
    assertGolden('hosts-jobs-ascii', renderHosts(detailed, liveScreen({ width: 60, unicode: false }))));

  it('keeps within its screen, harmless', () => {
    for (const width of [60, 80, 100, 160])
      for (const unicode of [true, false])
        for (const line of renderHosts(detailed, liveScreen({ width, unicode }))) {
          assert.ok(displayWidth(line) <= width, `${width}: ${line}`);
          assert.doesNotMatch(line, unicode ? /\p{C}/u : /[^ -~]/);
        }
  });

  it('draws used, asked for and free so that colours are not needed', () => {
    assert.match(lineOf({}), / █{10}▒{10}·{20} /);
    assert.match(lineOf({}, 160, false), / #{10}={10}\.{20} /);
    assert.match(lineOf({ peak: 1, used: 1 }), / █▒{19}·{20} /);
    assert.match(lineOf({ peak: 0, used: 0, requested: 0 }), / ·{40} /);
    // More than there is, by address space.
    assert.match(lineOf({ peak: 100 * GIB }), / █{40} /);
  });

  it('notes what is unusual', () => {
    assert.match(lineOf({ up: false, load: null }), /down$/);
    assert.match(lineOf({ strandedMemory: 8 * GIB }), /8\.00 GiB stranded$/);
    assert.match(lineOf({ strandedSlots: 1 }), /1 slot stranded$/);
    assert.match(lineOf({ unlimited: 2 }), /2 jobs without limit$/);
    assert.match(lineOf({ capacity: null, free: null }), / 64 GiB +4\/16 .*no h_vmem$/);
    assert.match(lineOf({ queues: [{ name: 'a\u001b[2J', slots: 1, slotsUsed: 0, state: 'au' }] }), /a\\x1b\[2J: au$/);
    assert.doesNotMatch(lineOf({ up: false, capacity: null }), /no h_vmem/);
  });

  it('shows what was given away beyond complex_values', () => {
    assert.match(lineOf({ free: -1.5 * GIB }), / -1\.5 GiB +4\/16/);
  });

  it('says that nothing is like that', () => {
    const lines = renderHosts({ ...plain, hosts: [] }, liveScreen());
    assert.match(lines[0] ?? '', /^0 of 4 hosts/);
    assert.ok(lines.includes('No host matches.'));
  });

  it('keeps the sum of the lines below a host and its own alike', () => {
    for (const host of view.hosts) {
      const reserved = host.parts.reduce((sum, part) => sum + part.reserved, 0);
      assert.equal(reserved, host.requested, host.name);
    }
  });
});

describe('totalHosts', () => {
  it('adds up, without what is free on a host that is down', () => {
    const totals = totalHosts([BARE, { ...BARE, up: false, strandedSlots: 3 }]);
    assert.deepEqual(
      [totals.hosts, totals.down, totals.requested, totals.free, totals.total, totals.strandedSlots, totals.slots],
      [2, 1, 64 * GIB, 32 * GIB, 64 * GIB, 0, 16],
    );
    assert.equal(totalHosts([BARE, { ...BARE, free: -GIB }]).free, 32 * GIB);
    assert.deepEqual([totalHosts([]).total, totalHosts([]).peak], [null, 0]);
  });
});

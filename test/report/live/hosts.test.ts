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
  it('shows one line per host', () => assertGolden('hosts', renderHosts(plain, liveScreen())));
  it('fits a narrow screen', () => assertGolden('hosts-narrow', renderHosts(plain, liveScreen({ width: 60 }))));
  it('fits a wide screen', () => assertGolden('hosts-wide', renderHosts(plain, liveScreen({ width: 160 }))));
  it('shows hosts in colour', () => assertGolden('hosts-colour', renderHosts(plain, liveScreen({ colour: true }))));
  it('shows hosts with jobs and tasks', () => assertGolden('hosts-jobs', renderHosts(detailed, liveScreen())));
  it('shows hosts with jobs on a narrow screen in ASCII', () =>
    assertGolden('hosts-jobs-ascii', renderHosts(detailed, liveScreen({ width: 60, unicode: false }))));

  it('keeps to its width, and prints no control character', () => {
    for (const width of [60, 80, 100, 160])
      for (const unicode of [true, false])
        for (const line of renderHosts(detailed, liveScreen({ width, unicode }))) {
          assert.ok(displayWidth(line) <= width, `${width}: ${line}`);
          assert.doesNotMatch(line, unicode ? /\p{C}/u : /[^ -~]/);
        }
  });

  it('draws used, requested and free memory with different characters', () => {
    assert.match(lineOf({}), / █{10}▒{10}·{20} /);
    assert.match(lineOf({}, 160, false), / #{10}={10}\.{20} /);
    assert.match(lineOf({ peak: 1, used: 1 }), / █▒{19}·{20} /);
    assert.match(lineOf({ peak: 0, used: 0, requested: 0 }), / ·{40} /);
    // A peak above the host's memory, as address spaces can be.
    assert.match(lineOf({ peak: 100 * GIB }), / █{40} /);
  });

  it('notes what is unusual about a host', () => {
    assert.match(lineOf({ up: false, load: null }), /down$/);
    assert.match(lineOf({ strandedMemory: 8 * GIB }), /8\.00 GiB stranded$/);
    assert.match(lineOf({ strandedSlots: 1 }), /1 slot stranded$/);
    assert.match(lineOf({ unlimited: 2 }), /2 jobs without limit$/);
    assert.match(lineOf({ capacity: null, free: null }), / 64 GiB +4\/16 .*no h_vmem$/);
    assert.match(lineOf({ queues: [{ name: 'a\u001b[2J', slots: 1, slotsUsed: 0, state: 'au' }] }), /a\\x1b\[2J: au$/);
    assert.doesNotMatch(lineOf({ up: false, capacity: null }), /no h_vmem/);
  });

  it('shows memory granted beyond complex_values as negative', () => {
    assert.match(lineOf({ free: -1.5 * GIB }), / -1\.5 GiB +4\/16/);
  });

  it('says that no host matches', () => {
    const lines = renderHosts({ ...plain, hosts: [] }, liveScreen());
    assert.match(lines[0] ?? '', /^0 of 4 hosts/);
    assert.ok(lines.includes('No host matches.'));
  });

  it('requests on a host what its jobs reserve there', () => {
    for (const host of view.hosts) {
      const reserved = host.parts.reduce((sum, part) => sum + part.reserved, 0);
      assert.equal(reserved, host.requested, host.name);
    }
  });
});

describe('totalHosts', () => {
  it('adds up hosts, and counts nothing as free on a host that is down or overcommitted', () => {
    const totals = totalHosts([BARE, { ...BARE, up: false, strandedSlots: 3 }]);
    assert.deepEqual(
      [totals.hosts, totals.down, totals.requested, totals.free, totals.total, totals.strandedSlots, totals.slots],
      [2, 1, 64 * GIB, 32 * GIB, 64 * GIB, 0, 16],
    );
    assert.equal(totalHosts([BARE, { ...BARE, free: -GIB }]).free, 32 * GIB);
    assert.deepEqual([totalHosts([]).total, totalHosts([]).peak], [null, 0]);
  });
});

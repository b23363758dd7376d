import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { infiniband, parseRate } from '../../../src/sources/node/infiniband';
import { isUnavailable } from '../../../src/sources/source';
import { oddFile } from './garbage';
import { emptyTree, opened, plant, unsound, values } from './tree';

// No machine with InfiniBand, RoCE or Omni-Path was at hand: fixture trees of mlx5, mlx4, qib and hfi1.
describe('infiniband', () => {
  it('reads words of 4 bytes, packets, errors and the state of each port', (t) => {
    const all = values(opened(t, infiniband, plant('xeon-2s-linux-5.14').place())());
    const of = (port: string): Readonly<Record<string, number>> =>
      Object.fromEntries(
        Object.entries(all)
          .filter(([name]) => name.endsWith(` ${port}`))
          .map(([name, value]) => [name.slice('infiniband_'.length, -port.length - 1), value]),
      );
    assert.deepEqual(of('mlx5_0/1'), {
      rate_bits_per_second: 100e9,
      active: 1,
      link_layer: 1,
      transmitted_bytes: 48211509340112 * 4,
      received_bytes: 51720338841907 * 4,
      transmitted_packets: 98450012345,
      received_packets: 101223344556,
      transmit_discards: 0,
      transmit_wait: 8812,
      receive_errors: 0,
      symbol_errors: 3,
      link_downed: 1,
      link_recoveries: 0,
      stopped_counters: 0,
    });
    assert.equal(of('mlx5_1/1').active, 0);
    assert.equal(of('mlx5_2/1').link_layer, 2);
    assert.equal(of('mlx5_2/1').received_bytes, 8000);
  });

  it('prefers 64-bit counters, and marks ports whose 32-bit counters stopped', (t) => {
    const all = values(opened(t, infiniband, plant('old-linux-3.10').place())());
    assert.equal(all['infiniband_transmitted_bytes mlx4_0/1'], 7712345678901 * 4);
    assert.equal(all['infiniband_received_packets mlx4_0/1'], 16612345678);
    assert.equal(all['infiniband_stopped_counters mlx4_0/1'], 0);
    assert.equal(all['infiniband_transmitted_bytes qib0/1'], undefined);
    assert.equal(all['infiniband_received_bytes qib0/1'], 1234567890 * 4);
    assert.equal(all['infiniband_stopped_counters qib0/1'], 1);
  });

  it('reads flits of 8 bytes from Omni-Path, whatever it is called', (t) => {
    const all = values(opened(t, infiniband, plant('omnipath-linux-5.14').place())());
    assert.equal(all['infiniband_transmitted_bytes hfi1_0/1'], 8 * 1000000000001);
    assert.equal(all['infiniband_received_bytes ibp94s0/1'], 8 * 2000000000002);
    assert.equal(all['infiniband_received_bytes mlx5_0/1'], 4 * 2000000000002);
    assert.equal(all['infiniband_received_packets hfi1_0/1'], 400000004);
  });

  it('leaves out a port that vanishes, and is unavailable without any', (t) => {
    const tree = plant('omnipath-linux-5.14');
    const read = opened(t, infiniband, tree.place());
    tree.remove('sys/class/infiniband/hfi1_0');
    assert.ok(Object.keys(values(read())).every((name) => !name.includes('hfi1_0')));
    tree.remove('sys/class/infiniband');
    assert.ok(isUnavailable(read()));
  });

  it('reads rates, and yields only sound readings from odd files', (t) => {
    assert.equal(parseRate('2.5 Gb/sec (1X SDR)\n'), 2.5e9);
    assert.equal(parseRate('400 Gb/sec (4X NDR)\n'), 400e9);
    assert.equal(parseRate('fast'), null);
    const tree = emptyTree();
    const port = 'sys/class/infiniband/mlx5_0/ports/1';
    const files = ['rate', 'state', 'link_layer', 'counters/port_xmit_data', 'counters/port_rcv_errors'];
    fc.assert(
      fc.property(fc.array(oddFile, { minLength: files.length, maxLength: files.length }), (texts) => {
        for (const [index, file] of files.entries()) tree.write(`${port}/${file}`, texts[index] ?? '');
        assert.deepEqual(unsound(infiniband, opened(t, infiniband, tree.place())()), []);
      }),
      { numRuns: 50 },
    );
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sumOfJob, type JobSum } from '../../../src/accounting/job-sum';
import { displayWidth } from '../../../src/report/screen/text-width';
import { renderHostTable } from '../../../src/report/job/host-table';
import { mpiMaster, mpiTask } from '../sample-records';
import { testScreen } from '../screens';

const onHosts = (count: number): JobSum =>
  sumOfJob([mpiMaster(count), ...Array.from({ length: count }, (_, index) => mpiTask(index + 1))], 1);
const hostLines = (lines: readonly string[]): readonly string[] => lines.filter((line) => /^node\d+/.test(line));

describe('renderHostTable', () => {
  it('lists the twenty hosts with most and least memory, and all of them when asked', () => {
    const lines = renderHostTable(onHosts(64), false, 90, testScreen());
    assert.equal(hostLines(lines).length, 20);
    assert.match(lines[1] ?? '', /^node01 .* master \+ 1 /);
    assert.match(lines[2] ?? '', /^node64 /);
    assert.match(lines[11] ?? '', /^… 44 more, .*: --all-hosts$/);
    assert.match(lines[21] ?? '', /^node02 /);
    assert.equal(hostLines(renderHostTable(onHosts(64), true, 90, testScreen())).length, 64);
    assert.equal(hostLines(renderHostTable(onHosts(20), false, 90, testScreen())).length, 20);
  });

  it('marks the hosts with most and least memory where there is room', () => {
    const lines = renderHostTable(onHosts(4), false, 130, testScreen({ width: 140 }));
    assert.match(lines[1] ?? '', /least memory$/);
    assert.match(lines[4] ?? '', /most memory$/);
    assert.match(lines.join('\n'), /memory per slot: on node04 1\.\d\d times what it was on node01/);
  });

  it('mentions no imbalance where there is none', () => {
    const even = sumOfJob([mpiMaster(2), mpiTask(1), { ...mpiTask(2), peak_rss: mpiTask(1).peak_rss }], 1);
    const lines = renderHostTable({ ...even, cpu_imbalance: null }, false, 130, testScreen({ width: 140 }));
    assert.doesNotMatch(lines.join('\n'), /most|times/);
    const idle = { ...even, cpu_imbalance: { most: 'node01', least: 'node02', ratio: null } };
    assert.match(
      renderHostTable(idle, false, 90, testScreen()).join('\n'),
      /CPU time per slot: most on node01, none on node02/,
    );
  });

  it('names hosts without a record, shortens a long list, and prints no control character', () => {
    const hosts = Array.from({ length: 12 }, (_, index) => ({ host: `n\u001b[3${index}m`, slots: 1 }));
    const sum = sumOfJob([{ ...mpiMaster(1), granted_hosts: [{ host: 'node01', slots: 16 }, ...hosts] }], 1);
    const lines = renderHostTable(sum, false, 90, testScreen());
    assert.match(lines.join(' '), /12 hosts not seen \(n.*…\): nothing of the job ran there/);
    assert.equal(lines.filter((line) => line.includes('not seen  ') || line.endsWith('not seen')).length, 12);
    assert.doesNotMatch(lines.join(''), /\p{Cc}/u);
  });

  it('leaves enough of names with a domain to tell hosts apart', () => {
    const sum = onHosts(4);
    const hosts = sum.hosts.map((one) => ({ ...one, host: `compute-rack-${one.host}.cluster.example.org` }));
    const lines = renderHostTable({ ...sum, hosts }, false, 80, testScreen());
    for (const { host } of sum.hosts) assert.ok(lines.some((line) => line.startsWith(`compute-rack-${host}`)));
  });

  it('stays within a narrow screen', () => {
    const lines = renderHostTable(onHosts(64), false, 50, testScreen({ width: 60, unicode: false }));
    assert.deepEqual(
      lines.filter((line) => displayWidth(line) > 50),
      [],
    );
  });
});

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { openTaskDelays, readTaskDelays } from '../../../src/sources/events/task-delays';
import { isUnavailable } from '../../../src/sources/source';

function obstacle(): string | false {
  const reader = openTaskDelays();
  if (isUnavailable(reader)) return reader.unavailable;
  reader.close();
  return false;
}

describe('openTaskDelays', { skip: obstacle() }, () => {
  it('tells of this process and its main thread', (t) => {
    const reader = openTaskDelays();
    assert.ok(!isUnavailable(reader));
    t.after(reader.close);
    const spent = (): number => {
      const { system, user } = process.cpuUsage();
      return system + user;
    };
    const before = spent();
    const delays = reader.process(process.pid);
    const after = spent();
    const main = reader.thread(process.pid);
    assert.ok(delays !== null && main !== null);
    const cpu = (delays.cpuNs ?? 0) / 1000;
    assert.ok(cpu > before - 50_000 && cpu < after + 50_000, `${before} ${cpu} ${after}`);
    assert.ok((main.cpuNs ?? 0) <= (reader.process(process.pid)?.cpuNs ?? 0));
    assert.ok(delays.delays.cpu.count > 0 && delays.voluntarySwitches > 0);
  });

  it('has nothing of a process that has gone', () => {
    const { pid } = spawnSync('/bin/true');
    assert.equal(readTaskDelays(pid), null);
    assert.notEqual(readTaskDelays(process.pid), null);
  });

  it('says which right is missing', () => {
    const script = `process.stdout.write(JSON.stringify(require(process.argv[1]).openTaskDelays()))`;
    const modulePath = require.resolve('../../../src/sources/events/task-delays');
    const words = [
      '--bounding-set',
      '-net_admin',
      '--inh-caps',
      '-net_admin',
      process.execPath,
      '-e',
      script,
      modulePath,
    ];
    const { status, stdout, stderr } = spawnSync('setpriv', words, { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    assert.match(stdout, /no CAP_NET_ADMIN/);
  });
});

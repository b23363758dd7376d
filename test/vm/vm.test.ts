import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { cellObstacle, facts, runCellScript } from './cell';
import { runInVm, vmObstacle } from './vm';
import { temporaryDirectory } from '../support/temporary-directory';

const timeoutMs = 600_000;

void test('the test machine has cgroup v2, every capability and Node', { timeout: timeoutMs + 60_000 }, async (t) => {
  const obstacle = vmObstacle();
  if (obstacle !== null) {
    t.skip(obstacle);
    return;
  }

  const script = `
    echo "fact kernel $(uname -r)"
    echo "fact controllers $(cat /sys/fs/cgroup/cgroup.controllers)"
    mkdir /sys/fs/cgroup/probe
    echo "fact peak $(cat /sys/fs/cgroup/probe/memory.peak)"
    ulimit -v 100000
    ulimit -Hv unlimited
    echo "fact limit $(ulimit -Hv)"
    ulimit -v unlimited
    echo "fact node $(node -p process.version)"
    touch /usr/written && echo "fact written yes"
    echo from the machine >"$VM_OUT/file"
    exit 3`;
  const outDir = temporaryDirectory();

  const result = await runInVm({ script, timeoutMs, outDir });
  t.diagnostic(`ended after ${result.ms} ms`);
  assert.equal(result.status, 3, result.output);
  const found = facts(result.output);
  assert.match(found.get('kernel') ?? '', /^6\./);
  const controllers = found.get('controllers')?.split(' ') ?? [];
  for (const name of ['cpu', 'cpuset', 'io', 'memory', 'pids']) assert.ok(controllers.includes(name), name);
  assert.equal(found.get('peak'), '0');
  assert.equal(found.get('limit'), 'unlimited');
  assert.equal(found.get('node'), process.version);
  assert.equal(found.get('written'), 'yes');
  assert.equal(readFileSync(path.join(outDir, 'file'), 'utf8'), 'from the machine\n');
});

void test('a test machine that runs out of time is ended, and no process of it is left', async (t) => {
  const obstacle = vmObstacle();
  if (obstacle !== null) {
    t.skip(obstacle);
    return;
  }

  const outDir = temporaryDirectory();

  await assert.rejects(runInVm({ script: 'sleep 600', timeoutMs: 1000, outDir }), /was ended after 1000 ms/);
  assert.deepEqual(commandLinesWith(outDir), []);
});

void test(
  "a job's prolog on the test machine can raise the limit that h_vmem sets",
  { timeout: timeoutMs + 60_000 },
  async (t) => {
    const obstacle = cellObstacle();
    if (obstacle !== null) {
      t.skip(obstacle);
      return;
    }

    const body = `
    cat >/run/prolog.sh <<'END'
{
  echo "fact arguments $*"
  echo "fact before $(ulimit -v)"
  ulimit -Hv unlimited && ulimit -Sv unlimited
  echo "fact after $(ulimit -v)"
  echo "fact group $(cat /proc/self/cgroup)"
} >/run/prolog.out 2>&1
exit 0
END
    job=$(cell_submit -l h_vmem=300M -b y sleep 1)
    fact job "$job"
    cell_wait "$job" 120
    fact exit_status "$(cell_field "$job" exit_status)"
    fact failed "$(cell_field "$job" failed)"
    cat /run/prolog.out
    cell_problems`;
    const prolog = 'root@/usr/bin/env -i /bin/sh -p /run/prolog.sh $job_id $ja_task_id';
    const result = await runCellScript(body, { prolog, timeoutMs });
    t.diagnostic(`ended after ${result.ms} ms`);
    const found = facts(result.output);
    assert.equal(found.get('exit_status'), '0', result.output);
    assert.equal(found.get('failed'), '0', result.output);
    assert.equal(found.get('arguments'), `${found.get('job') ?? ''} 0`);
    assert.equal(found.get('before'), String(300 * 1024));
    assert.equal(found.get('after'), 'unlimited');
    assert.equal(found.get('group'), '0::/system.slice/gridengine-exec.service');
  },
);

/** Command lines of all processes that have this text. */
function commandLinesWith(text: string): readonly string[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(commandLine).filter((line) => line.includes(text));
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ');
  } catch {
    return ''; // ended meanwhile
  }
}

import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { qhost819 } from '../gridengine/qhost/qhost-samples';
import { list819 } from '../gridengine/qstat/job-list-samples';
import { temporaryDirectory } from '../support/temporary-directory';
import { qmemacct } from '../support/qmemacct';

const directory = temporaryDirectory();

/** A cell whose qhost and qstat are these shell scripts; returns the environment that finds them. */
function makeCell(name: string, qhost: string, qstat: string): NodeJS.ProcessEnv {
  const cell = join(directory, name);
  const runtime = join(cell, 'runtime');
  mkdirSync(join(cell, 'bin'), { recursive: true });
  mkdirSync(runtime, { mode: 0o700 });
  for (const [client, script] of [
    ['qhost', qhost],
    ['qstat', qstat],
  ] as const)
    writeFileSync(join(cell, 'bin', client), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  writeFileSync(join(cell, 'qhost.xml'), qhost819);
  writeFileSync(join(cell, 'list.xml'), list819);
  writeFileSync(
    join(cell, 'none.toml'),
    `accounting = "${cell}/none.db"\nrun_dir = "${cell}"\nserve_socket = "${cell}/s"\n`,
  );
  return {
    ...process.env,
    PATH: `${join(cell, 'bin')}:${process.env.PATH ?? ''}`,
    XDG_RUNTIME_DIR: runtime,
    LC_ALL: 'C.UTF-8',
    SGE_ROOT: '',
    CONFIG: join(cell, 'none.toml'),
  };
}

function answer(env: NodeJS.ProcessEnv, ...words: readonly string[]): ReturnType<typeof qmemacct> {
  return qmemacct([...words, '--config', env.CONFIG ?? ''], { env });
}

describe("live and hosts, with Grid Engine's clients", () => {
  const cell = join(directory, 'good');
  const good = makeCell(
    'good',
    `exec cat "${cell}/qhost.xml"`,
    `case " $* " in *" -j "*) echo "<detailed_job_info/>";; *) exec cat "${cell}/list.xml";; esac`,
  );

  it('show what qhost and qstat answer', () => {
    const live = answer(good, 'live', '--json');
    assert.equal(live.status, 0, live.stderr);
    const { jobs } = JSON.parse(live.stdout) as { readonly jobs: readonly { readonly job_id: number }[] };
    assert.ok(jobs.some(({ job_id: job }) => job === 103));
    const hosts = answer(good, 'hosts', '-u');
    assert.equal(hosts.status, 0, hosts.stderr);
    assert.match(hosts.stdout, /\nnode01 [^]*master +103 +bob +weird<&">x /);
  });

  it('end with 3 and give the reason in at most three lines where qhost and qstat fail', () => {
    const dead = makeCell('dead', 'echo "error: commlib error: got select error" >&2; exit 1', 'exit 1');
    for (const command of ['live', 'hosts']) {
      const { status, stdout, stderr } = answer(dead, command);
      assert.deepEqual([status, stdout], [3, ''], stderr);
      assert.match(stderr, /^(qmemacct: .+\n){1,3}$/);
      assert.doesNotMatch(stderr, /bug/);
    }
  });
});

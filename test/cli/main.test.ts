import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { COMMAND, qmemacct } from '../support/qmemacct';
import { temporaryDirectory } from '../support/temporary-directory';
import { until } from '../support/until';

describe('the program', () => {
  it('ends with the status of its command', () => {
    const { status, stdout, stderr } = qmemacct(['job', '0']);
    assert.equal(status, 2);
    assert.equal(stdout, '');
    assert.match(stderr, /^qmemacct: "0" is not a job/);
    assert.equal(qmemacct(['--version']).status, 0);
  });

  it('ends with 0 and without a message when the reader of its output has gone', async () => {
    const child = spawn(process.execPath, [COMMAND, '--help'], { stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.destroy();
    const errors: Buffer[] = [];
    child.stderr.on('data', (data: Buffer) => errors.push(data));
    const status = await new Promise((resolve) => child.on('close', resolve));
    assert.deepEqual([status, Buffer.concat(errors).toString()], [0, '']);
  });

  it('does not crash when its terminal has gone', async (t) => {
    const file = join(temporaryDirectory(), 'status');
    const watch = `"${process.execPath}" "${COMMAND}" live --watch --config /dev/null`;
    const command = `sh -c 'trap : HUP; ${watch}; echo $? >"${file}"'`;
    const child = spawn('script', ['-qec', command, '/dev/null'], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, TERM: 'xterm', SHELL: '/bin/sh', SGE_ROOT: '' },
    });
    t.after(() => child.kill());
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (piece: string) => (text += piece));
    await until(
      () => text.includes('Asking Grid Engine'),
      () => text,
    );
    child.kill('SIGKILL');
    await until(
      () => existsSync(file) && readFileSync(file, 'utf8').endsWith('\n'),
      () => 'the status of the program',
    );
    assert.match(readFileSync(file, 'utf8'), /^(?:3|129)\n$/);
  });
});

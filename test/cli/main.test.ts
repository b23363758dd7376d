import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { describe, it } from 'node:test';
import { COMMAND, qmemacct } from '../support/qmemacct';

describe('the program', () => {
  it('ends with the status of its command', () => {
    const { status, stdout, stderr } = qmemacct(['job', '0']);
    assert.equal(status, 2);
    assert.equal(stdout, '');
    assert.match(stderr, /^qmemacct: "0" is not a job/);
    assert.equal(qmemacct(['--version']).status, 0);
  });

  it('says nothing when its reader has gone', async () => {
    const child = spawn(process.execPath, [COMMAND, '--help'], { stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.destroy();
    const errors: Buffer[] = [];
    child.stderr.on('data', (data: Buffer) => errors.push(data));
    const status = await new Promise((resolve) => child.on('close', resolve));
    assert.deepEqual([status, Buffer.concat(errors).toString()], [0, '']);
  });
});

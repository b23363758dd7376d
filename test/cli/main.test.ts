import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, it } from 'node:test';

const main = join(__dirname, '..', '..', 'src', 'cli', 'main.js');

describe('the program', () => {
  it('ends with the status of its command', () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [main, 'job', '0'], { encoding: 'utf8' });
    assert.equal(status, 2);
    assert.equal(stdout, '');
    assert.match(stderr, /^qmemacct: "0" is not a job/);
    assert.equal(spawnSync(process.execPath, [main, '--version']).status, 0);
  });

  it('says nothing when its reader has gone', async () => {
    const child = spawn(process.execPath, [main, '--help'], { stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.destroy();
    const errors: Buffer[] = [];
    child.stderr.on('data', (data: Buffer) => errors.push(data));
    const status = await new Promise((resolve) => child.on('close', resolve));
    assert.deepEqual([status, Buffer.concat(errors).toString()], [0, '']);
  });
});

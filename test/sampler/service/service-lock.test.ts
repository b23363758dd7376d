import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { startTicksOf, writePidFile } from '../../../src/sampler/job/pid-file';
import { serviceDirectory, servicePid } from '../../../src/sampler/service/service-lock';
import { bootId } from '../../../src/sources/proc/clock';
import { temporaryDirectory } from '../../support/temporary-directory';

describe('the service of this host', () => {
  it('is the process that its pid file identifies, as long as that lives', async () => {
    const settings = { run_dir: temporaryDirectory() };
    assert.equal(servicePid(settings), null);
    const directory = serviceDirectory(settings);
    mkdirSync(directory);
    writePidFile(directory, bootId());
    assert.equal(servicePid(settings), process.pid);
    const child = spawn('sleep', ['60'], { stdio: 'ignore' });
    await once(child, 'spawn');
    const pid = child.pid ?? 0;
    const write = (changes: Record<string, string | number> = {}): void => {
      const values = { version: 1, pid, start: startTicksOf(pid) ?? 0, boot: bootId(), end: 1, ...changes };
      writeFileSync(
        join(directory, 'pid'),
        Object.entries(values)
          .map(([key, value]) => `${key}=${value}\n`)
          .join(''),
      );
    };
    write();
    assert.equal(servicePid(settings), pid);
    // The pid is another process's by now; another boot; a torn file.
    write({ start: 1 });
    assert.equal(servicePid(settings), null);
    write({ boot: '00000000-1111-2222-3333-444444444444' });
    assert.equal(servicePid(settings), null);
    writeFileSync(join(directory, 'pid'), `version=1\npid=${pid}\n`);
    assert.equal(servicePid(settings), null);
    write();
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
    assert.equal(servicePid(settings), null);
  });
});

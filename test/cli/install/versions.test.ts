import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { temporaryDirectory } from '../../support/temporary-directory';
import { PATIENCE_MS } from '../../support/until';

describe('versions that run', () => {
  it('are found beside processes whose command line is huge or a FIFO', () => {
    const proc = temporaryDirectory();
    for (const pid of ['11', '12', '13']) mkdirSync(join(proc, pid));
    writeFileSync(join(proc, '11/cmdline'), '');
    truncateSync(join(proc, '11/cmdline'), 400 * 1024 ** 2);
    assert.equal(spawnSync('mkfifo', [join(proc, '12/cmdline')]).status, 0);
    writeFileSync(join(proc, '13/cmdline'), '/usr/bin/node\0/opt/x/1.2.3-0123456789/dist/src/sampler/main.js\0');
    const module = join(__dirname, '../../../src/cli/install/versions.js');
    const script = `
      const { runningVersions } = require(${JSON.stringify(module)});
      process.stdout.write([...runningVersions('/opt/x', ${JSON.stringify(proc)})].join());`;
    const { stdout, status } = spawnSync(process.execPath, ['--max-old-space-size=200', '-e', script], {
      encoding: 'utf8',
      timeout: PATIENCE_MS,
    });
    assert.deepEqual([status, stdout], [0, '1.2.3-0123456789']);
  });
});

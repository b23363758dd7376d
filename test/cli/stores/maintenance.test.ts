import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { becomeDeliverer } from '../../../src/cli/stores/maintenance';

const asRoot = { skip: process.getuid?.() !== 0 && 'needs root' };

/** What a process is after it has become the deliverer: its uids, gids and groups, as the kernel has them. */
function become(user: string): string {
  const deliverer = join(__dirname, '..', '..', '..', 'src', 'cli', 'stores', 'maintenance.js');
  const script = `require(process.argv[1]).becomeDeliverer({ deliver_as: process.argv[2] });
    const status = require('fs').readFileSync('/proc/self/status', 'utf8');
    console.log(status.match(/^(Uid|Gid|Groups|CapEff):.*/gm).join('\\n').replace(/\\s+/g, ' '));
    try { process.setuid(0); console.log('root again'); } catch {}`;
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', script, deliverer, user], { encoding: 'utf8' });
  assert.equal(stderr, '');
  return stdout.trim();
}

describe('the deliverer of the accounting DB', () => {
  it('is the user of deliver_as, or nobody, and never root again', asRoot, () => {
    const [, , uid = '', gid = ''] =
      readFileSync('/etc/passwd', 'utf8')
        .split('\n')
        .find((line) => line.startsWith('nobody:'))
        ?.split(':') ?? [];
    for (const user of ['nobody', '']) {
      const now = become(user);
      assert.match(now, new RegExp(`^Uid:( ${uid}){4} Gid:( ${gid}){4} Groups: ${gid} `));
      assert.match(now, /CapEff: 0+$/);
    }
  });

  it('stays root where deliver_as is root', asRoot, () => {
    assert.match(become('root'), /^Uid: 0 0 0 0 /);
  });

  it('is refused where deliver_as is no user', asRoot, () => {
    assert.throws(() => {
      becomeDeliverer({ deliver_as: 'no-such-user' });
    }, /deliver_as = "no-such-user": no such user/);
  });
});

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { passThroughNeed } from '../../../src/cli/install/pass-through-need';
import { apart, apartOrNot } from '../../base/apart';
import { COMMAND } from '../../support/qmemacct';
import { temporaryDirectory } from '../../support/temporary-directory';

const USER = 65_534;
const HOOKS = '/opt/x/current/hooks';

/** A /proc with one shepherd, which works in a directory with this config. */
function procOf(uid: number, config: string): string {
  const top = temporaryDirectory(0o755);
  for (const path of ['proc/42', 'spool']) mkdirSync(join(top, path), { recursive: true });
  writeFileSync(join(top, 'proc/42/comm'), 'sge_shepherd\n');
  writeFileSync(join(top, 'proc/42/status'), `Name:\tsge_shepherd\nUid:\t${uid}\t${uid}\t${uid}\t${uid}\n`);
  symlinkSync(join(top, 'spool'), join(top, 'proc/42/cwd'));
  writeFileSync(join(top, 'spool/config'), config);
  return join(top, 'proc');
}

const need = async (uid: number, config: string): Promise<string> => {
  const found = await passThroughNeed(
    HOOKS,
    { SGE_ROOT: '/none', PATH: '/none' },
    { admin_user: '', cell: '', command_timeout: 30 },
    procOf(uid, config),
  );
  return found.kind === 'named' ? found.reason : found.kind;
};

describe('jobs that name our hooks', apartOrNot, () => {
  it('count where their shepherd runs as root', async () => {
    assert.equal(await need(0, `prolog=root@/bin/sh -p ${HOOKS}/prolog.sh\n`), '1 running job names them');
    assert.doesNotMatch(await need(0, 'prolog=none\n'), /running/);
    assert.doesNotMatch(await need(USER, `prolog=root@/bin/sh -p ${HOOKS}/prolog.sh\n`), /running/);
  });

  it("are found without waiting for a user's FIFO that looks like a job's config", () => {
    const top = temporaryDirectory(0o755);
    const shepherd = join(top, 'sge_shepherd');
    copyFileSync('/bin/sleep', shepherd);
    chmodSync(shepherd, 0o755);
    assert.equal(spawnSync('mkfifo', [join(top, 'config')]).status, 0);
    chownSync(top, USER, USER);
    const script = `
      cd "$1" && setpriv --reuid ${USER} --regid ${USER} --clear-groups ./sge_shepherd 600 &
      until grep -qx sge_shepherd /proc/[0-9]*/comm; do :; done
      timeout 100 "$2" "$3" --config "$1/none.toml" uninstall --node --dry-run --prefix "$1/opt"
      echo "status $?"`;
    assert.match(apart(script, [top, process.execPath, COMMAND]), /status 0/);
  });
});

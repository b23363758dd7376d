import assert from 'node:assert/strict';
import {
  chmodSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  renameSync,
  rmdirSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { accountingDirectorySteps } from '../../src/cli/install/accounting-directory';
import { directorySteps } from '../../src/cli/install/directories';
import type { Step } from '../../src/cli/install/steps';
import { makeNightPlaces } from '../../src/cli/nightly/report-files';
import { temporaryDirectory } from '../support/temporary-directory';
import { DEFAULT_SETTINGS } from '../../src/record/settings';

const asRoot = { skip: process.getuid?.() === 0 ? false : 'only root can give files away' };
const USER = 65_534;

/** Makes `user/link`, a link of an ordinary user that leads to `root`, in which `inside` lies. Returns its directory. */
function directoryWithUsersLink(): string {
  const top = temporaryDirectory(0o755);
  for (const name of ['root', 'root/inside', 'user']) mkdirSync(join(top, name), { mode: 0o700 });
  writeFileSync(join(top, 'root/file'), '', { mode: 0o600 });
  symlinkSync('../root', join(top, 'user/link'));
  for (const name of ['user', 'user/link']) lchownSync(join(top, name), USER, USER);
  return top;
}

const shapeOf = (path: string): string => {
  const { uid, mode, nlink } = lstatSync(path);
  return `${uid} ${(mode & 0o7777).toString(8)} ${nlink}`;
};

async function apply(steps: readonly Step[]): Promise<string> {
  const output: string[] = [];
  for (const step of steps)
    try {
      output.push((await step.apply()) ?? '');
    } catch (error) {
      output.push(String(error));
    }
  return output.join('\n');
}

describe('root', asRoot, () => {
  it("does not give away a directory that a user's link leads to", async () => {
    const top = directoryWithUsersLink();
    const path = join(top, 'user/link/inside');
    assert.match(
      await apply(directorySteps({ path, mode: 0o755, uid: USER, gid: USER })),
      /user belongs to uid 65534, and could lead root elsewhere; make it by hand: install -d -m 755 -o 65534/,
    );
    assert.equal(shapeOf(join(top, 'root/inside')), '0 700 2');
  });

  it("makes no accounting directory through a user's link, but in the user's directory and in its own", async () => {
    const top = directoryWithUsersLink();
    const stepsFor = (path: string): readonly Step[] =>
      accountingDirectorySteps({ ...DEFAULT_SETTINGS, deliver_as: 'nobody', accounting: join(path, 'a.db') });
    assert.match(await apply(stepsFor(join(top, 'user/link/accounting'))), /make it on a host that may, for nobody/);
    assert.match(await apply(stepsFor(join(top, 'user/link/inside'))), /make it on a host that may, for nobody/);
    assert.deepEqual([shapeOf(join(top, 'root')), shapeOf(join(top, 'root/inside'))], ['0 700 3', '0 700 2']);
    assert.equal(await apply(stepsFor(join(top, 'user/new/accounting'))), '');
    assert.equal(shapeOf(join(top, 'user/new/accounting')), `${USER} 2750 2`);
    assert.equal(await apply(stepsFor(join(top, 'root/accounting'))), '');
    assert.equal(shapeOf(join(top, 'root/accounting')), `${USER} 2750 2`);
  });

  it('leaves the mode of an accounting directory whose owner has changed since the step was planned', async () => {
    const top = directoryWithUsersLink();
    const [path, other] = [join(top, 'user/accounting'), join(top, 'root/inside')];
    mkdirSync(path);
    lchownSync(path, USER, USER);
    chmodSync(path, 0o777);
    const steps = accountingDirectorySteps({
      ...DEFAULT_SETTINGS,
      deliver_as: 'nobody',
      accounting: join(path, 'a.db'),
    });
    rmdirSync(path);
    renameSync(other, path);
    assert.match(await apply(steps), /belongs to uid 0 by now/);
    assert.equal(shapeOf(path), '0 700 2');
  });

  it('makes no directories for nightly reports there either', () => {
    const top = directoryWithUsersLink();
    const inside = join(top, 'user/link/inside');
    makeNightPlaces({
      ...DEFAULT_SETTINGS,
      deliver_as: 'nobody',
      accounting: join(inside, 'a.db'),
      report_dir: join(inside, 'reports'),
      digest_dir: join(inside, 'digest'),
    });
    assert.equal(shapeOf(join(top, 'root/inside')), '0 700 2');
  });
});

import { execFileSync } from 'node:child_process';
import { lstatSync } from 'node:fs';
import { dirname } from 'node:path';
import { reasonOf } from '../../base/user-error';
import { closeToOthers, makeOwnedDirectory, type Ownership } from '../../base/set-owner';
import { untrusted } from '../../base/trusted-path';
import { isPostgresUrl } from '../../record/postgres-url';
import type { Settings } from '../../record/settings';
import { delivererName, delivererOwner } from '../stores/maintenance';
import { isEmptyDirectory, sharedMode } from './directories';
import type { Step } from './steps';

const OTHERS_WRITE = 0o002;

/** Makes the directory as root only if the parent is root's alone, else with the owner's own rights. */
function makeFor(path: string, mode: number, owner: Ownership): void {
  if (untrusted(dirname(path)) === null) makeOwnedDirectory(path, mode, owner);
  else execFileSync('/bin/mkdir', ['-p', '-m', mode.toString(8), '--', path], { ...owner, cwd: '/', stdio: 'pipe' });
}

/** Makes the accounting DB's directory, for the deliverer to write to. A shared one may need to be made elsewhere. */
export function accountingDirectorySteps(settings: Settings): Step[] {
  if (isPostgresUrl(settings.accounting)) return [];
  const path = dirname(settings.accounting);
  const who = delivererName(settings);
  const fix = `make it on a host that may, for ${who}: install -d -o ${who} ${path}`;
  let owner: Ownership;
  try {
    owner = delivererOwner(settings);
  } catch (error) {
    return [{ says: `look for the user ${who}`, apply: () => reasonOf(error) }];
  }
  const { uid } = owner;
  const found = lstatSync(path, { throwIfNoEntry: false });
  const attempt = (says: string, action: () => void): Step => ({
    says,
    apply: () => {
      try {
        action();
        return null;
      } catch (error) {
        // Root is nobody on most network file systems.
        return `${path}: ${reasonOf(error)}; ${fix}`;
      }
    },
  });
  const mode = sharedMode(settings);
  if (found === undefined) {
    return [attempt(`make ${path} for ${who} (${mode.toString(8)})`, () => makeFor(path, mode, owner))];
  }
  if (!found.isDirectory()) return [];
  if (found.uid === uid) {
    // The deliverer refuses a directory that everyone may write to.
    if ((found.mode & OTHERS_WRITE) === 0) return [];
    return [attempt(`take ${path} from others' writing`, () => closeToOthers(path, uid))];
  }
  if (found.uid === 0 && isEmptyDirectory(path))
    return [
      attempt(`give the empty ${path} to ${who} (${mode.toString(8)})`, () => makeOwnedDirectory(path, mode, owner)),
    ];
  return [
    {
      says: `leave ${path} with its owner (uid ${found.uid})`,
      apply: () =>
        `${path}: belongs to uid ${found.uid}, and ${who} delivers; let ${who} write to it, or set deliver_as`,
    },
  ];
}

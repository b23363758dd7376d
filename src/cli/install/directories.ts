import { lstatSync, readdirSync } from 'node:fs';
import { makeOwnedDirectory } from '../../base/set-owner';
import type { Settings } from '../../record/settings';
import type { Step } from './steps';

/** A directory that is needed, and whose it is to be. */
export interface WantedDirectory {
  readonly path: string;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

const PERMISSIONS = 0o7777;
const OTHERS_READ = 0o004;
const octal = (mode: number): string => (mode & PERMISSIONS).toString(8).padStart(4, '0');

/** What is wrong with a directory that should be like this; null: nothing. "missing" where there is none. */
export function directoryFault({ path, mode, uid, gid }: WantedDirectory): string | null {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return 'missing';
  if (!found.isDirectory()) return 'not a directory';
  if (found.uid !== uid || found.gid !== gid) return `belongs to ${found.uid}:${found.gid}, not to ${uid}:${gid}`;
  if ((found.mode & PERMISSIONS) !== mode) return `has mode ${octal(found.mode)}, not ${octal(mode)}`;
  return null;
}

/** The step that a directory needs; none where it is right. */
export function directorySteps(wanted: WantedDirectory): Step[] {
  const fault = directoryFault(wanted);
  if (fault === null) return [];
  const says = `${fault === 'missing' ? 'make' : 'fix'} ${wanted.path} (${octal(wanted.mode)}${fault === 'missing' ? '' : `; ${fault}`})`;
  return [
    {
      says,
      apply: () => {
        makeOwnedDirectory(wanted.path, wanted.mode, wanted);
        return null;
      },
    },
  ];
}

/** Of one that others may read as far as they may read the accounting DB: group-sticky, so that files get its group. */
export const sharedMode = ({ accounting_mode: mode }: Pick<Settings, 'accounting_mode'>): number =>
  parseInt(mode, 8) & OTHERS_READ ? 0o2755 : 0o2750;

const root = { uid: 0, gid: 0 };

/** The node's own directories (src/sampler/job/run-directory.ts, recover.ts): who may write where is what their safety rests on. */
export function nodeDirectories(stateDir: string, runDir: string): readonly WantedDirectory[] {
  return [
    { path: stateDir, mode: 0o755, ...root },
    { path: `${stateDir}/run`, mode: 0o700, ...root },
    { path: `${stateDir}/outbox`, mode: 0o1733, ...root },
    { path: `${stateDir}/plain`, mode: 0o1777, ...root },
    { path: runDir, mode: 0o755, ...root },
    { path: `${runDir}/run`, mode: 0o700, ...root },
    { path: `${runDir}/live`, mode: 0o755, ...root },
  ];
}

export function isEmptyDirectory(path: string): boolean {
  try {
    return readdirSync(path).length === 0;
  } catch {
    return false;
  }
}

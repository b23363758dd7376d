import { lstatSync, readdirSync } from 'node:fs';
import { makeOwnedDirectory } from '../../base/set-owner';
import type { Settings } from '../../record/settings';
import type { Step } from './steps';

/** A directory that is needed, and the mode and owner that it must have. */
export interface WantedDirectory {
  readonly path: string;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

const PERMISSIONS = 0o7777;
const OTHERS_READ = 0o004;
const octal = (mode: number): string => (mode & PERMISSIONS).toString(8).padStart(4, '0');

/** How a directory differs from what is wanted; "is missing": there is none; null: it does not differ. */
export function directoryFault({ path, mode, uid, gid }: WantedDirectory): string | null {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return 'is missing';
  if (!found.isDirectory()) return 'not a directory';
  if (found.uid !== uid || found.gid !== gid) return `belongs to ${found.uid}:${found.gid}, not to ${uid}:${gid}`;
  if ((found.mode & PERMISSIONS) !== mode) return `has mode ${octal(found.mode)}, not ${octal(mode)}`;
  return null;
}

/** The step that makes or fixes a directory; empty if it is right. */
export function directorySteps(wanted: WantedDirectory): Step[] {
  const fault = directoryFault(wanted);
  if (fault === null) return [];
  const [verb, why] = fault === 'is missing' ? ['make', ''] : ['fix', `; ${fault}`];
  const says = `${verb} ${wanted.path} (${octal(wanted.mode)}${why})`;
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

/** Mode of a directory that others may read if they may read the accounting DB; setgid, so that files get its group. */
export const sharedMode = ({ accounting_mode: mode }: Pick<Settings, 'accounting_mode'>): number =>
  parseInt(mode, 8) & OTHERS_READ ? 0o2755 : 0o2750;

const root = { uid: 0, gid: 0 };

/**
 * The node's own directories (src/sampler/job/run-directory.ts, recover.ts); their owners and modes keep them safe. Users
 * can write there, and so fill the disk that samplers need, only where their records are taken.
 */
export function nodeDirectories({
  state_dir: stateDir,
  run_dir: runDir,
  accept_self_reported: isOpen,
}: Pick<Settings, 'state_dir' | 'run_dir' | 'accept_self_reported'>): readonly WantedDirectory[] {
  return [
    { path: stateDir, mode: 0o755, ...root },
    { path: `${stateDir}/run`, mode: 0o700, ...root },
    { path: `${stateDir}/outbox`, mode: isOpen ? 0o1733 : 0o700, ...root },
    { path: `${stateDir}/plain`, mode: isOpen ? 0o1777 : 0o700, ...root },
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

import { randomBytes } from 'node:crypto';
import { existsSync, lstatSync, mkdirSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { replaceFile } from '../../base/replace-file';
import { readText } from '../../sources/files';
import { commandPath, type SystemPlaces } from './places';
import { step, type Step } from './steps';

/** Writes a file if its content differs. */
export function fileSteps(path: string, text: string): Step[] {
  if (readText(path) === text) return [];
  return [
    step(`write ${path}`, () => {
      mkdirSync(dirname(path), { recursive: true });
      replaceFile(path, text, 0o644);
    }),
  ];
}

/** Removes files. */
export const removeFiles = (paths: readonly string[]): Step[] =>
  paths.map((path) => step(`remove ${path}`, () => rmSync(path, { force: true })));

const TMPFILES = 'qmemacct.conf';

/** Lets systemd-tmpfiles make a run directory under /run at each boot, as /run is empty then. */
export function tmpfilesSteps(places: SystemPlaces, runDir: string): Step[] {
  if (places.tmpfiles === null || !/^(\/var)?\/run\//.test(runDir)) return [];
  const lines = [
    '# Written by "qmemacct install --node".',
    `d ${runDir} 0755 root root -`,
    `d ${runDir}/run 0700 root root -`,
    `d ${runDir}/live 0755 root root -`,
    '',
  ];
  return fileSteps(join(places.tmpfiles, TMPFILES), lines.join('\n'));
}

/** Makes or replaces a link in one step, as another host that shares the directory may do the same. */
function replaceLink(path: string, target: string): void {
  const fresh = `${path}.${randomBytes(6).toString('hex')}`;
  symlinkSync(target, fresh);
  renameSync(fresh, path);
}

/** Makes a link in everyone's PATH if the name is free. */
export function linkSteps(places: SystemPlaces, prefix: string): Step[] {
  if (places.commands === null) return [];
  const path = join(places.commands, 'qmemacct');
  const target = commandPath(prefix);
  const there = lstatSync(path, { throwIfNoEntry: false });
  const old = there?.isSymbolicLink() === true ? readlinkSync(path) : null;
  if (old === target) return [];
  // A dangling link to a removed installation under another prefix also counts as free.
  const isFree = there === undefined || (old?.endsWith('/current/bin/qmemacct') === true && !existsSync(path));
  if (isFree) return [step(`link ${path} to ${target}`, () => replaceLink(path, target))];
  return [{ says: `leave ${path}`, apply: () => `${path}: is something else; the command is ${target}` }];
}

/** Removes what `tmpfilesSteps` and `linkSteps` made. */
export function removeSystemFiles(places: SystemPlaces, prefix: string): Step[] {
  const boot = places.tmpfiles === null ? [] : [join(places.tmpfiles, TMPFILES)].filter((path) => existsSync(path));
  const link = places.commands === null ? [] : [join(places.commands, 'qmemacct')];
  const isOurs = (path: string): boolean =>
    lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true && readlinkSync(path) === commandPath(prefix);
  return removeFiles([...boot, ...link.filter(isOurs)]);
}

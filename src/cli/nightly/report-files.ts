import { mkdirSync, readdirSync, rmSync, lstatSync } from 'node:fs';
import { join, dirname } from 'node:path';
import { replaceFile } from '../../base/replace-file';
import { makeOwnedDirectory } from '../../base/set-owner';
import { untrusted } from '../../base/trusted-path';
import type { Settings } from '../../record/settings';
import { dayOfReport, reportPath } from '../../report/efficiency/kept-reports';
import type { MailReport } from '../../report/efficiency/mail-report';
import { sharedMode, type WantedDirectory } from '../install/directories';
import { delivererOwner } from '../stores/maintenance';
import { ledgerDirectory } from './ledger';

/** Everyone who may read the files may also enter the directory. */
const directoryMode = (mode: number): number => 0o700 | mode | ((mode & 0o444) >> 2);

/** Writes `DAY.html` and `DAY.json` into the report directory, each whole or not at all. Throws. */
export function writeReport(
  directory: string,
  day: string,
  mode: number,
  files: Pick<MailReport, 'html' | 'json'>,
): void {
  mkdirSync(directory, { recursive: true, mode: directoryMode(mode) });
  replaceFile(reportPath(directory, day, 'json'), files.json, mode);
  replaceFile(reportPath(directory, day, 'html'), files.html, mode);
}

/** Removes reports of days before `oldest`; returns the number of files. Throws. */
export function pruneReports(directory: string, oldest: string): number {
  const old = readdirSync(directory).filter((name) => (dayOfReport(name) ?? oldest) < oldest);
  for (const name of old) rmSync(join(directory, name), { force: true });
  return old.length;
}

/** The report directory, owned by the user who writes reports, and root's directory for users' digest choices. */
export function nightPlaces(settings: Settings): readonly WantedDirectory[] {
  const place = { path: settings.report_dir, mode: sharedMode(settings), ...delivererOwner(settings) };
  return [...(settings.report_dir === '' ? [] : [place]), { path: settings.digest_dir, mode: 0o1777, uid: 0, gid: 0 }];
}

/**
 * As root, makes the missing directories of the nightly job and leaves existing ones alone; only where nobody but root
 * could swap the new directory for something else. What it can't make is reported later by the step that needs it.
 */
export function makeNightPlaces(settings: Settings): void {
  if (process.geteuid?.() !== 0) return;
  const ledger = { path: ledgerDirectory(settings), mode: 0o700, ...delivererOwner(settings) };
  for (const { path, mode, uid, gid } of [...nightPlaces(settings), ledger]) {
    if (lstatSync(dirname(path), { throwIfNoEntry: false })?.isDirectory() !== true) continue;
    if (untrusted(dirname(path)) !== null || lstatSync(path, { throwIfNoEntry: false }) !== undefined) continue;
    makeOwnedDirectory(path, mode, { uid, gid });
  }
}

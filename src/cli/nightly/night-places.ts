import { lstatSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeOwnedDirectory } from '../../base/set-owner';
import { untrusted } from '../../base/trusted-path';
import { delivererIdentity } from '../../sampler/delivery/outbox-feeder';
import type { Settings } from '../../record/settings';
import { ledgerDirectory } from './ledger';

/** A directory that a night needs, and whose it is to be. */
interface NightPlace {
  readonly path: string;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

const OTHERS_READ = 0o004;

/** The reports' directory, of the user who writes them, and that of users' wishes, which is everybody's and root's. */
export function nightPlaces(settings: Settings): readonly NightPlace[] {
  const keeper = delivererIdentity(settings.deliver_as) ?? { uid: 0, gid: 0 };
  const mode = parseInt(settings.accounting_mode, 8) & OTHERS_READ ? 0o2755 : 0o2750;
  return [
    ...(settings.report_dir === '' ? [] : [{ path: settings.report_dir, mode, ...keeper }]),
    { path: settings.digest_dir, mode: 0o1777, uid: 0, gid: 0 },
  ];
}

/**
 * Makes what is missing, as root, and touches nothing that is there. Only where nobody but root can put something else in
 * the new directory's place. What it can't make is left to who needs it, and to complain.
 */
export function makeNightPlaces(settings: Settings): void {
  if (process.geteuid?.() !== 0) return;
  const keeper = delivererIdentity(settings.deliver_as) ?? { uid: 0, gid: 0 };
  const ledger: NightPlace = { path: ledgerDirectory(settings), mode: 0o700, ...keeper };
  for (const { path, mode, uid, gid } of [...nightPlaces(settings), ledger]) {
    if (lstatSync(dirname(path), { throwIfNoEntry: false })?.isDirectory() !== true) continue;
    if (untrusted(dirname(path)) !== null || lstatSync(path, { throwIfNoEntry: false }) !== undefined) continue;
    makeOwnedDirectory(path, mode, { uid, gid });
  }
}

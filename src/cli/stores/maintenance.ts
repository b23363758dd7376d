import { constants, existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { isPermitted } from '../../base/file-state';
import type { HistoryStore, LongWork, Retention } from '../../accounting/history-store';
import { openHistory } from '../../accounting/open-store';
import type { Ownership } from '../../base/set-owner';
import { isPostgresUrl } from '../../record/postgres-url';
import { loadSettings, type Settings } from '../../record/settings';
import { delivererIdentity } from '../../sampler/delivery/outbox-feeder';
import { interruption, progressLine, type Terminal } from '../terminal';
import { madeOwnStorePath } from './stores';

/** Whether the caller may write to an accounting DB, or make it if it does not exist. */
function mayWrite(accounting: string): boolean {
  if (isPostgresUrl(accounting)) return true;
  return isPermitted(existsSync(accounting) ? accounting : dirname(accounting), constants.W_OK);
}

/**
 * The settings to import with. If the host has no configuration, or the caller may not write to the site's accounting
 * DB, anybody but root imports into an accounting DB of their own, whose directory is made. Throws UserError.
 */
export function importSettings(config: string, env: Terminal['env']): Settings {
  const settings = loadSettings(config);
  if (process.getuid?.() === 0 || (existsSync(config) && mayWrite(settings.accounting))) return settings;
  return { ...settings, accounting: madeOwnStorePath(env), accounting_mode: '0600' };
}

/** The name of the user that the accounting DB belongs to. */
export const delivererName = ({ deliver_as: user }: Pick<Settings, 'deliver_as'>): string =>
  user === '' ? 'nobody' : user;

/** uid and gid of the user that the accounting DB belongs to; root's if root itself delivers. Throws UserError. */
export const delivererOwner = ({ deliver_as: user }: Pick<Settings, 'deliver_as'>): Ownership =>
  delivererIdentity(user) ?? { uid: 0, gid: 0 };

/**
 * Makes root the user that the accounting DB belongs to, for good: root is nobody on most network file systems, and a
 * file made by root would shut that user out. Changes nothing for other callers, or if `deliver_as` is root. Throws
 * UserError.
 */
export function becomeDeliverer(settings: Pick<Settings, 'deliver_as'>): void {
  const identity = delivererIdentity(settings.deliver_as);
  if (identity === null) return;
  // initgroups is missing from the type declarations.
  (process as { readonly initgroups?: (user: number, group: number) => void }).initgroups?.(identity.uid, identity.gid);
  process.setgid?.(identity.gid);
  process.setuid?.(identity.uid);
  process.chdir('/');
}

/** How many days the settings keep each kind of data in the accounting DB. */
export function retentionOf(settings: Settings): Retention {
  return {
    records: settings.keep_records_days,
    series: settings.keep_charts_days,
    rollups: settings.keep_rollups_days,
  };
}

type OpenHistory = (settings: Settings) => Promise<HistoryStore>;

interface Worked<T> {
  readonly result: T;
  /** SIGINT or SIGTERM ended the work early. */
  readonly isInterrupted: boolean;
}

/**
 * Runs long work on the accounting DB, as the user that it belongs to; `what` names the counted things in the progress
 * line. Rejects with UserError or StoreError.
 */
export async function workOnHistory<T>(
  settings: Settings,
  terminal: Terminal,
  what: string,
  work: (store: HistoryStore, how: LongWork) => Promise<T>,
  open: OpenHistory = openHistory,
): Promise<Worked<T>> {
  becomeDeliverer(settings);
  const store = await open(settings);
  const progress = progressLine(terminal);
  const { signal, release } = interruption();
  const onProgress = (done: number, of: number): void => progress.show(what, done, of);
  try {
    const result = await work(store, { signal, onProgress });
    return { result, isInterrupted: signal.aborted };
  } finally {
    progress.clear();
    release();
    await store.close();
  }
}

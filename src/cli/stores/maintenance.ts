import { constants, existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { may } from '../../base/file-state';
import type { HistoryStore, LongWork } from '../../accounting/history-store';
import { openHistory } from '../../accounting/open-store';
import type { Ownership } from '../../base/set-owner';
import { isPostgresUrl } from '../../record/postgres-url';
import { loadSettings, type Settings } from '../../record/settings';
import { delivererIdentity } from '../../sampler/delivery/outbox-feeder';
import { interruption, progressLine, type Terminal } from '../terminal';
import { madeOwnStorePath } from './stores';

/** Whether the caller may write an accounting DB, which may still have to be made. */
function mayWrite(accounting: string): boolean {
  if (isPostgresUrl(accounting)) return true;
  return may(existsSync(accounting) ? accounting : dirname(accounting), constants.W_OK);
}

/**
 * The settings to import with. Where the host has no configuration, or its accounting DB is not theirs to write, anybody
 * but root imports into an accounting DB of their own, whose directory is made. Throws UserError.
 */
export function importSettings(config: string, env: Terminal['env']): Settings {
  const settings = loadSettings(config);
  if (process.getuid?.() === 0 || (existsSync(config) && mayWrite(settings.accounting))) return settings;
  return { ...settings, accounting: madeOwnStorePath(env), accounting_mode: '0600' };
}

/** The user that the accounting DB belongs to. */
export const delivererName = ({ deliver_as: user }: Pick<Settings, 'deliver_as'>): string =>
  user === '' ? 'nobody' : user;

/** The numbers of that user; root's where root itself delivers. Throws UserError. */
export const delivererOwner = ({ deliver_as: user }: Pick<Settings, 'deliver_as'>): Ownership =>
  delivererIdentity(user) ?? { uid: 0, gid: 0 };

/**
 * Root becomes the user that the accounting DB belongs to, for good: root is nobody on most network file systems, and a
 * file that it made would shut that user out. Anybody else, or where `deliver_as` is root, stays. Throws UserError.
 */
export function becomeDeliverer(settings: Pick<Settings, 'deliver_as'>): void {
  const identity = delivererIdentity(settings.deliver_as);
  if (identity === null) return;
  // Missing from the types.
  (process as { readonly initgroups?: (user: number, group: number) => void }).initgroups?.(identity.uid, identity.gid);
  process.setgid?.(identity.gid);
  process.setuid?.(identity.uid);
  process.chdir('/');
}

type OpenHistory = (settings: Settings) => Promise<HistoryStore>;

interface Worked<T> {
  readonly result: T;
  /** By SIGINT or SIGTERM: some of it is left. */
  readonly isInterrupted: boolean;
}

/**
 * Long work on the accounting DB, as the user that it belongs to; `what` names what is counted meanwhile. Rejects with
 * UserError or StoreError.
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

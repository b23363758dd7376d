import { createHash } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { MOUNT_WRITABLE } from '../../accounting/sqlite/database/denied';
import { codeOf } from '../../base/error-code';
import { boolean, checkJson, object, oneOf, string, type Shape, type ValueOf } from '../../base/shape';
import { tryLock } from '../../native/libc';
import { replaceFile } from '../../base/replace-file';
import type { Settings } from '../../record/settings';
import { readText } from '../../sources/files';
import { CommandError, EXIT } from '../command';

/**
 * Which nights are done and which mails have been sent, in a directory that outlives reboots:
 *
 *   lock                flock held by the process that works with the ledger
 *   DAY/night.json      the state of the night: begun, done, or skipped
 *   DAY/KEY.claim       written (O_EXCL) before a mail is handed to a server: from then on it may have been sent
 *   DAY/KEY.outcome     the outcome: "sent" or "refused"
 *
 * A mail is sent at most once. A claim without an outcome means that a process died or a server fell silent after the
 * message was handed over; that mail is not sent again. A claim is taken back only if the mail certainly was not sent.
 * This holds even on a network file system without locks, since only one of two processes gets the claim.
 */
export interface Ledger {
  /** The settled night of a day; null: unknown, or begun and not settled. */
  readonly night: (day: string) => SettledNight | null;
  /** Why the night was begun: it was due, or asked for with --date; null: never begun. */
  readonly begunBy: (day: string) => Turn | null;
  readonly begin: (day: string, by: Turn) => void;
  readonly settle: (day: string, night: SettledNight) => void;
  /** Claims a mail: 'mine': this process is to send it, else what became of it. */
  readonly claim: (day: string, mail: MailName) => ClaimAnswer;
  readonly conclude: (day: string, mail: MailName, outcome: 'sent' | 'refused', reason: string) => void;
  /** Removes a mail's claim and outcome, so that it can be sent later or again. */
  readonly release: (day: string, mail: MailName) => void;
  /** What became of a mail; 'open': never claimed. */
  readonly stateOf: (day: string, mail: MailName) => MailState;
  /** The days that the ledger knows anything about. */
  readonly days: () => readonly string[];
  /** Forgets the mails of settled nights before that day; `unsettled`: also of nights not settled. */
  readonly forgetBefore: (day: string, which?: { readonly unsettled: boolean }) => void;
  readonly close: () => void;
}

/** Why a night is done: it was due, or asked for with --date. */
type Turn = 'due' | 'date';

const settledNight = object({
  state: oneOf(['done', 'skipped']),
  by: oneOf(['due', 'date']),
  /** Whether mails were sent, or nobody was to get any. */
  mailed: boolean,
  at: string,
  host: string,
});
export type SettledNight = ValueOf<typeof settledNight>;

const begunNight = object({ by: oneOf(['due', 'date']) });
const outcomeShape = object({ outcome: oneOf(['sent', 'refused']) });

/** A mail of one night; never two with the same name. */
export interface MailName {
  readonly kind: 'digest' | 'site' | 'trouble' | 'job' | 'risk';
  /** An owner, or an admin's address; for a mail about a job, also the job. */
  readonly to: string;
}

type MailState = 'open' | 'sent' | 'refused' | 'doubt';
type ClaimAnswer = 'mine' | Exclude<MailState, 'open'>;

const DAY = /^\d{4}-\d\d-\d\d$/;
const OTHERS_WRITE = 0o022;

/** Beside a SQLite DB, so that all hosts that share the DB share the ledger; with PostgreSQL, beside the reports. */
export function ledgerDirectory(settings: Pick<Settings, 'accounting' | 'report_dir' | 'state_dir'>): string {
  const { accounting, report_dir: reports, state_dir: state } = settings;
  if (accounting.startsWith('/')) return join(dirname(accounting), 'nightly');
  return join(reports === '' ? state : reports, 'nightly');
}

const FULL = 'its file system is full, or a quota is used up; make room there';
/** Faults of the file system, whatever is written to it. */
const FAULTS: ReadonlyMap<string, string> = new Map([
  ['ENOSPC', FULL],
  ['EDQUOT', FULL],
  ['EROFS', `its file system is read-only; ${MOUNT_WRITABLE}`],
]);

function unavailable(path: string, problem: string, cause?: unknown): CommandError {
  return new CommandError(`${path}: ${problem}`, EXIT.unavailable, { cause });
}

const faultOf = (error: unknown): string | undefined => FAULTS.get(codeOf(error));

/** Writes to the ledger. Throws CommandError if the disk or a quota is full, or the file system read-only. */
function writing<T>(directory: string, write: () => T): T {
  try {
    return write();
  } catch (error) {
    const fault = faultOf(error);
    throw fault === undefined ? error : unavailable(directory, fault, error);
  }
}

function requireOwn(directory: string): void {
  const found = lstatSync(directory);
  if (!found.isDirectory()) throw unavailable(directory, 'is not a directory; remove it');
  if (found.uid !== process.geteuid?.() || (found.mode & OTHERS_WRITE) !== 0)
    throw unavailable(
      directory,
      `belongs to uid ${found.uid}, or others may write to it; run this as that user (deliver_as), or chmod 700 it`,
    );
}

function makeOwn(directory: string): void {
  try {
    mkdirSync(directory, { mode: 0o700 });
  } catch (error) {
    const code = codeOf(error);
    if (code === 'EEXIST') return;
    if (faultOf(error) !== undefined) throw error;
    // The parent is not made: if its file system is not mounted, an empty ledger would let every mail be sent again.
    if (code === 'ENOENT')
      throw unavailable(directory, `${dirname(directory)} is missing; mount it, or make it`, error);
    throw unavailable(
      directory,
      `can't be made: ${(error as Error).message}; run this as the user of deliver_as, or as root`,
      error,
    );
  }
}

function syncDirectory(directory: string): void {
  const descriptor = openSync(directory, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Writes a new file durably. Throws EEXIST if it exists already. */
function writeAnew(path: string, text: string): void {
  const descriptor = openSync(path, 'wx', 0o600);
  try {
    writeFileSync(descriptor, text);
    fsyncSync(descriptor);
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
  syncDirectory(dirname(path));
}

/** null: there is no such file, or it is incomplete. */
function readFile<T>(shape: Shape<T>, path: string): T | null {
  const found = checkJson(shape, readText(path) ?? '', path);
  return found.ok ? found.value : null;
}

function holderOf(path: string): string {
  const text = readFileSync(path, 'utf8').split('\n', 1)[0] ?? '';
  return /^[\w .:+-]{1,200}$/.test(text) ? ` (${text})` : '';
}

function openLock(path: string): number {
  try {
    return openSync(path, 'a+', 0o600);
  } catch (error) {
    if (faultOf(error) !== undefined) throw error;
    throw unavailable(path, `can't be written: ${(error as Error).message}`, error);
  }
}

/** Takes the lock of the ledger; `warn` is called if the file system has no locks. Throws CommandError. */
function takeLock(path: string, who: string, warn: (line: string) => void, other: string): number {
  const lock = openLock(path);
  let mine: boolean;
  try {
    mine = tryLock(lock);
  } catch (error) {
    warn(`${path}: ${(error as Error).message}: this file system has no locks; make sure that only one host reports`);
    mine = true;
  }
  if (!mine) {
    const holder = holderOf(path);
    closeSync(lock);
    throw unavailable(path, `${other}${holder}; this one does nothing`);
  }
  try {
    // Written in place, not replaced: the lock is on this very file.
    writeFileSync(path, `${who}\n`);
  } catch (error) {
    // The holder's name only informs others; the lock works without it.
    if (faultOf(error) === undefined) throw error;
  }
  return lock;
}

function fileName({ kind, to }: MailName): string {
  return `${kind}-${createHash('sha256').update(to).digest('hex').slice(0, 24)}`;
}

const mailPath = (directory: string, day: string, mail: MailName, what: 'claim' | 'outcome'): string =>
  join(directory, day, `${fileName(mail)}.${what}`);

/** A ledger for reading only; an empty one if there is none. */
export function readLedger(directory: string): Pick<Ledger, 'night' | 'begunBy' | 'stateOf'> {
  return {
    night: (day) => readFile(settledNight, join(directory, day, 'night.json')),
    begunBy: (day) => {
      if (lstatSync(join(directory, day), { throwIfNoEntry: false }) === undefined) return null;
      return readFile(begunNight, join(directory, day, 'night.json'))?.by ?? 'due';
    },
    stateOf: (day, mail) => {
      const found = readFile(outcomeShape, mailPath(directory, day, mail, 'outcome'));
      if (found !== null) return found.outcome;
      const isClaimed = lstatSync(mailPath(directory, day, mail, 'claim'), { throwIfNoEntry: false }) !== undefined;
      return isClaimed ? 'doubt' : 'open';
    },
  };
}

/**
 * Opens the ledger, or makes it if there is none, and locks it. `other`: the message if another process holds the lock.
 * Throws CommandError.
 */
export function openLedger(
  directory: string,
  who: string,
  warn: (line: string) => void,
  other = 'another nightly job is running',
): Ledger {
  writing(directory, () => makeOwn(directory));
  requireOwn(directory);
  const lock = writing(directory, () => takeLock(join(directory, 'lock'), who, warn, other));
  const looking = readLedger(directory);
  /** A night that was due once stays 'due' even if it is later asked for with --date. */
  const write = (day: string, night: { readonly state: string; readonly by: Turn }): void => {
    const by = looking.begunBy(day) === 'due' ? 'due' : night.by;
    writing(directory, () => {
      makeOwn(join(directory, day));
      replaceFile(join(directory, day, 'night.json'), `${JSON.stringify({ ...night, by })}\n`, 0o600);
      syncDirectory(join(directory, day));
    });
  };
  const days = (): readonly string[] => readdirSync(directory).filter((name) => DAY.test(name));
  return {
    ...looking,
    days,
    begin: (day, by) => {
      write(day, { state: 'begun', by });
    },
    settle: write,
    claim: (day, mail) => {
      const found = looking.stateOf(day, mail);
      if (found !== 'open') return found;
      try {
        writing(directory, () => {
          makeOwn(join(directory, day));
          writeAnew(mailPath(directory, day, mail, 'claim'), `${JSON.stringify({ ...mail, who })}\n`);
        });
        return 'mine';
      } catch (error) {
        if (codeOf(error) === 'EEXIST') return 'doubt';
        throw error;
      }
    },
    conclude: (day, mail, outcome, reason) => {
      writing(directory, () => {
        const text = `${JSON.stringify({ ...mail, outcome, reason })}\n`;
        replaceFile(mailPath(directory, day, mail, 'outcome'), text, 0o600);
        syncDirectory(join(directory, day));
      });
    },
    release: (day, mail) => {
      for (const what of ['outcome', 'claim'] as const) rmSync(mailPath(directory, day, mail, what), { force: true });
      syncDirectory(join(directory, day));
    },
    forgetBefore: (limit, { unsettled } = { unsettled: false }) => {
      for (const day of days()) {
        if (day >= limit || (!unsettled && looking.night(day) === null)) continue;
        for (const name of readdirSync(join(directory, day)))
          if (/\.(?:claim|outcome)$/.test(name)) rmSync(join(directory, day, name), { force: true });
      }
    },
    close: () => {
      closeSync(lock);
    },
  };
}

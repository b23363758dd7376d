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
import { boolean, checkJson, object, oneOf, string, type Shape, type ValueOf } from '../../base/shape';
import { tryLock } from '../../native/libc';
import { replaceFile } from '../../base/replace-file';
import type { Settings } from '../../record/settings';
import { CommandError, EXIT } from '../command';

/**
 * What nights have been done and which mails have gone, in a directory that outlives reboots:
 *
 *   lock                flock held by the process that is at it
 *   DAY/night.json      what the night is: begun, done, or skipped
 *   DAY/KEY.claim       written (O_EXCL) before a mail is handed to a server: from then on it may have gone
 *   DAY/KEY.outcome     what came of it: "sent" or "refused"
 *
 * A mail goes at most once: a claim without outcome is of a process that died, or a server that fell silent, after the
 * message had been handed over, and it is not sent again. A claim is taken back only where surely nothing was taken.
 * This holds also where a network file system keeps no locks, since one of two gets the claim.
 */
export interface Ledger {
  /** null: unknown, or begun and not settled. */
  readonly night: (day: string) => SettledNight | null;
  /** Whether its turn had come or it was asked for with --date, when it was begun; null: never begun. */
  readonly begunBy: (day: string) => Turn | null;
  readonly begin: (day: string, by: Turn) => void;
  readonly settle: (day: string, night: SettledNight) => void;
  /** Takes a mail: whether it is ours to send, or what became of it. */
  readonly claim: (day: string, mail: MailName) => ClaimAnswer;
  readonly conclude: (day: string, mail: MailName, outcome: 'sent' | 'refused', reason: string) => void;
  /** Nothing was taken: another time. */
  readonly release: (day: string, mail: MailName) => void;
  /** What became of a mail so far; 'open': nothing. */
  readonly stateOf: (day: string, mail: MailName) => MailState;
  /** Of which it knows anything. */
  readonly days: () => readonly string[];
  /** Forgets the mails of settled nights before that day; `unsettled`: of others, too. */
  readonly forgetBefore: (day: string, which?: { readonly unsettled: boolean }) => void;
  readonly close: () => void;
}

/** A night's turn had come, or it was asked for with --date. */
type Turn = 'due' | 'date';

const settledNight = object({
  state: oneOf(['done', 'skipped']),
  by: oneOf(['due', 'date']),
  /** Whether those who want mail got it (or there was nobody). */
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
  /** Owner, or an admin's address; of a mail about a job, the job as well. */
  readonly to: string;
}

type MailState = 'open' | 'sent' | 'refused' | 'doubt';
type ClaimAnswer = 'mine' | Exclude<MailState, 'open'>;

const DAY = /^\d{4}-\d\d-\d\d$/;
const OTHERS_WRITE = 0o022;

/** Beside a SQLite DB, on whatever host that is shared with; with PostgreSQL where the reports are. */
export function ledgerDirectory(settings: Pick<Settings, 'accounting' | 'report_dir' | 'state_dir'>): string {
  const { accounting, report_dir: reports, state_dir: state } = settings;
  if (accounting.startsWith('/')) return join(dirname(accounting), 'nightly');
  return join(reports === '' ? state : reports, 'nightly');
}

const NO_ROOM = ['ENOSPC', 'EDQUOT'];

function unavailable(path: string, problem: string, cause?: unknown): CommandError {
  return new CommandError(`${path}: ${problem}`, EXIT.unavailable, { cause });
}

const isWithoutRoom = (error: unknown): boolean => NO_ROOM.includes((error as NodeJS.ErrnoException).code ?? '');

/** Writes to the ledger. Throws CommandError where there is no room for that. */
function writing<T>(directory: string, write: () => T): T {
  try {
    return write();
  } catch (error) {
    if (!isWithoutRoom(error)) throw error;
    throw unavailable(directory, 'its file system is full, or a quota is used up; make room there', error);
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
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return;
    if (isWithoutRoom(error)) throw error;
    // Not made here: where a file system is not mounted, an empty ledger would let every mail go again.
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

/** Throws EEXIST where another one has it. */
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

/** null: there is none, or one that was not written to its end. */
function readFile<T>(shape: Shape<T>, path: string): T | null {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return null;
  }
  const found = checkJson(shape, text, path);
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
    if (isWithoutRoom(error)) throw error;
    throw unavailable(path, `can't be written: ${(error as Error).message}`, error);
  }
}

/** Takes the lock of the ledger; `warn` is called where the file system has no locks. Throws CommandError. */
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
    // In place: the lock is on this very file.
    writeFileSync(path, `${who}\n`);
  } catch (error) {
    // Who holds it is for others to read; the lock holds without.
    if (!isWithoutRoom(error)) throw error;
  }
  return lock;
}

function fileName({ kind, to }: MailName): string {
  return `${kind}-${createHash('sha256').update(to).digest('hex').slice(0, 24)}`;
}

const mailPath = (directory: string, day: string, mail: MailName, what: 'claim' | 'outcome'): string =>
  join(directory, day, `${fileName(mail)}.${what}`);

/** A ledger to look into, with which nothing can be changed; where there is none: an empty one. */
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
 * Opens the ledger, makes it where there is none, and keeps everybody else out; `other`: what one is told who is kept out.
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
  /** A night whose turn has come once does not become one that was only asked for. */
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
        if ((error as NodeJS.ErrnoException).code === 'EEXIST') return 'doubt';
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

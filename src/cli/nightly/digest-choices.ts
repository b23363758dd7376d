import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fchmodSync,
  lstatSync,
  opendirSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
  type Dir,
} from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '../../base/error-code';
import { textOfUntrusted } from '../../base/read-untrusted';
import { UserError } from '../../base/user-error';

/**
 * Who wants a digest and who doesn't: files in a directory that everybody may write to (root's, mode 1777), each named
 * UID.RANDOM and believed only if owned by that uid. So users can speak only for themselves and need no other rights.
 * The files hold a few words, are read up to a bound, and never through a link.
 */
export type DigestChoice = 'on' | 'off';

/** Mails about single jobs that a user may ask for besides the digest. */
export const JOB_MAILS = ['each-job', 'at-risk'] as const;
export type JobMail = (typeof JOB_MAILS)[number];

/** What one user has chosen. */
export interface UserChoice {
  readonly choice: DigestChoice;
  readonly also: readonly JobMail[];
  /** When the user chose (ms). */
  readonly since: number;
}

const NAME = /^(0|[1-9]\d{0,9})\.[0-9a-f]{16}$/;
/** A user needs one file; if there are more, at most this many of the newest are read. */
const MOST_EACH = 16;

const MOST_BYTES = 64;

/** A file that may hold a choice. */
interface Candidate {
  readonly uid: number;
  readonly path: string;
  readonly mtimeMs: number;
}

type Found = UserChoice & Candidate;

function readChoice(candidate: Candidate): Found | null {
  const { path, uid, mtimeMs } = candidate;
  const words =
    textOfUntrusted(path, MOST_BYTES, new Set([uid]))
      ?.trim()
      .split(' ') ?? [];
  const [choice] = words;
  if (choice !== 'on' && choice !== 'off') return null;
  const also = JOB_MAILS.filter((mail) => words.includes(mail));
  return { ...candidate, choice, also, since: Math.floor(mtimeMs) };
}

/** Names in the directory, one by one: someone may have filled it with files. */
function* namesIn(directory: string): Generator<string> {
  let opened: Dir;
  try {
    opened = opendirSync(directory);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return;
    throw error;
  }
  try {
    for (let entry = opened.readSync(); entry !== null; entry = opened.readSync()) yield entry.name;
  } finally {
    opened.closeSync();
  }
}

/** The newest files of each user; files that others put there under a user's number do not count. */
function candidatesOf(directory: string, only: number | null): ReadonlyMap<number, readonly Candidate[]> {
  const found = new Map<number, readonly Candidate[]>();
  for (const name of namesIn(directory)) {
    const uid = Number(NAME.exec(name)?.[1] ?? Number.NaN);
    if (Number.isNaN(uid) || (only !== null && uid !== only)) continue;
    const path = join(directory, name);
    const status = lstatSync(path, { throwIfNoEntry: false });
    // A second hard link may have been made by another user.
    if (status?.uid !== uid || !status.isFile() || status.nlink !== 1) continue;
    const all = [...(found.get(uid) ?? []), { uid, path, mtimeMs: status.mtimeMs }];
    found.set(uid, all.length <= MOST_EACH ? all : all.sort(byAge).slice(-MOST_EACH));
  }
  return found;
}

const byAge = (a: Candidate, b: Candidate): number => a.mtimeMs - b.mtimeMs;

/** The choices in the directory, oldest first; `only`: of this uid. */
function choicesOf(directory: string, only: number | null): readonly Found[] {
  const candidates = [...candidatesOf(directory, only).values()].flat();
  return candidates.flatMap((candidate) => readChoice(candidate) ?? []).sort(byAge);
}

/** The newest choice of each user, by uid. Throws if the directory exists but can't be read. */
export function readChoices(directory: string): ReadonlyMap<number, UserChoice> {
  return new Map(choicesOf(directory, null).map((found) => [found.uid, found]));
}

/** What a user has chosen; null: nothing. */
export function choiceOf(directory: string, uid: number): UserChoice | null {
  return choicesOf(directory, uid).at(-1) ?? null;
}

/** Stores the choice of the calling user. Throws if the directory is missing or can't be written to. */
export function writeChoice(directory: string, choice: DigestChoice, also: readonly JobMail[] = []): void {
  const uid = process.geteuid?.() ?? -1;
  const own = choicesOf(directory, uid).at(-1)?.path;
  const path = join(directory, `${uid}.${randomBytes(8).toString('hex')}`);
  // A new file: an existing one may be somebody else's.
  const descriptor = openSync(path, 'wx', 0o644);
  try {
    // The nightly job reads the file as another user, so the umask must not matter.
    fchmodSync(descriptor, 0o644);
    writeFileSync(descriptor, `${[choice, ...also].join(' ')}\n`);
  } catch (error) {
    // An empty file is no choice, but would take the place of one, as only the newest are read.
    rmSync(path, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
  if (own !== undefined) renameSync(path, own);
}

/**
 * The wanted choices of users, by user name. Rejects if the directory can't be read, or the name service can't be
 * asked.
 */
export async function choicesByName(
  directory: string,
  isWanted: (said: UserChoice) => boolean = () => true,
): Promise<ReadonlyMap<string, UserChoice>> {
  const wanted = [...readChoices(directory)].filter(([, said]) => isWanted(said));
  const names = await namesOf(wanted.map(([uid]) => uid));
  return new Map(wanted.map(([uid, said]) => [names.get(uid) ?? '', said] as const).filter(([name]) => name !== ''));
}

const AT_ONCE = 200;
const PATIENCE_MS = 20_000;
const GETENT = '/usr/bin/getent';
/** Exit status of getent if it did not find all of them; it prints the others. */
const SOME_UNKNOWN = 2;

function getent(uids: readonly number[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { timeout: PATIENCE_MS, encoding: 'utf8', env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' } } as const;
    execFile(GETENT, ['passwd', ...uids.map(String)], options, (error, stdout) => {
      if (error === null || error.code === SOME_UNKNOWN) resolve(stdout);
      else {
        const why = error.killed === true ? `no answer within ${PATIENCE_MS / 1000} s` : String(error.code);
        reject(new UserError(`${GETENT} can't say whose choices these are (${why})`, { cause: error }));
      }
    });
  });
}

/** User names from the name service; unknown uids are left out. Rejects if the name service can't be asked. */
export async function namesOf(uids: readonly number[]): Promise<ReadonlyMap<number, string>> {
  const names = new Map<number, string>();
  for (let at = 0; at < uids.length; at += AT_ONCE)
    for (const line of (await getent(uids.slice(at, at + AT_ONCE))).split('\n')) {
      const [name = '', , uid = ''] = line.split(':');
      if (name !== '' && /^\d+$/.test(uid)) names.set(Number(uid), name);
    }
  return names;
}

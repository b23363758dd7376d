import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readBytes, whyUnreadable } from '../files';
import { metricsOf, opened, reading, source, type Reading } from '../source';

const { gauge } = metricsOf('users');

const LOGGED_IN = gauge('logged_in', 'count', 'Users with at least one session.');
const SESSIONS = gauge('sessions', 'count', 'Login sessions: terminals and remote logins.');
const OF_USER = gauge('sessions_of_user', 'count', 'Login sessions of each user.', { instance: 'user' });

const USER_PROCESS = 7;
const HIGHEST_TYPE = 9;

/** Bytes in a record (utmp(5)): 384 where 64-bit programs keep the 32-bit times (x86, POWER, s390), 400 elsewhere. */
const SHORT = 384;
const LONG = 400;
const OWN = ['arm64', 'riscv64', 'loong64'].includes(process.arch) ? LONG : SHORT;

export interface Session {
  readonly user: string;
  readonly pid: number;
}

function userIn(record: Buffer): string {
  const bytes = record.subarray(44, 76);
  const end = bytes.indexOf(0);
  return bytes.toString('utf8', 0, end < 0 ? bytes.length : end);
}

function split(content: Buffer, size: number): readonly Buffer[] | null {
  if (content.length % size !== 0) return null;
  const records = Array.from({ length: content.length / size }, (_, index) =>
    content.subarray(index * size, (index + 1) * size),
  );
  return records.every((record) => record.readInt32LE(0) <= HIGHEST_TYPE && record.readInt32LE(0) >= 0)
    ? records
    : null;
}

/** Sessions of users in a utmp file, read in this architecture's layout, else in the other; null when neither fits. */
export function parseUtmp(content: Buffer, own = OWN): readonly Session[] | null {
  for (const size of [own, own === SHORT ? LONG : SHORT]) {
    const records = split(content, size);
    if (records === null) continue;
    return records
      .filter((record) => record.readInt16LE(0) === USER_PROCESS)
      .map((record) => ({ user: userIn(record), pid: record.readInt32LE(4) }))
      .filter(({ user, pid }) => user !== '' && pid > 0);
  }
  return null;
}

function userReadings(sessions: readonly Session[]): readonly Reading[] {
  const counts = new Map<string, number>();
  for (const { user } of sessions) counts.set(user, (counts.get(user) ?? 0) + 1);
  return [
    reading(LOGGED_IN, counts.size),
    reading(SESSIONS, sessions.length),
    ...[...counts].map(([user, count]) => reading(OF_USER, count, user)),
  ];
}

export const users = source({
  name: 'users',
  reads: ['/var/run/utmp'],
  metrics: [LOGGED_IN, SESSIONS, OF_USER],
  interval: 60,
  open: ({ proc, root }) => {
    const path = join(root, 'var/run/utmp');
    const read = (): readonly Reading[] | null => {
      const content = readBytes(path);
      const sessions = content === null ? null : parseUtmp(content);
      if (sessions === null) return null;
      // Sessions that ended without telling utmp stay in it.
      return userReadings(sessions.filter(({ pid }) => existsSync(`${proc}/${pid}`)));
    };
    // Nothing fixes its absence: newer systems keep sessions in systemd-logind only.
    return opened(read, () => whyUnreadable(path));
  },
});

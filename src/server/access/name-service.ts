import { execFile } from 'node:child_process';
import { cachedLookup } from '../cached-lookup';

/** A user of this system, as the name service knows it. */
interface KnownUser {
  readonly name: string;
  readonly gids: readonly number[];
}

/** Asks the name service without blocking the server: it may be a directory on another host. */
export interface UserNames {
  /** null: nobody has this uid, or there was no answer in time. */
  user(uid: number): Promise<KnownUser | null>;
  /** Number of a group; null: no such group. */
  group(name: string): Promise<number | null>;
}

/** Runs a program and resolves to what it printed; null: it failed. */
export type RunProgram = (program: string, words: readonly string[]) => Promise<string | null>;

/** `program` is a path. A program that takes longer than 5 s has failed. */
export const runProgram: RunProgram = (program, words) =>
  new Promise((resolve) => {
    const options = { timeout: 5000, encoding: 'utf8', env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' } } as const;
    execFile(program, [...words], options, (error, stdout) => resolve(error === null ? stdout : null));
  });

const numbers = (text: string): readonly number[] =>
  text.split(/\s+/).flatMap((word) => (/^\d+$/.test(word) ? [Number(word)] : []));

/** Names by `getent` and `id`, kept for five minutes. */
export function newUserNames(run: RunProgram = runProgram, now: () => number = Date.now): UserNames {
  return {
    user: cachedLookup(async (uid: number) => {
      const name = (await run('/usr/bin/getent', ['passwd', String(uid)]))?.split(':')[0] ?? '';
      if (name === '' || name.startsWith('-')) return null;
      return { name, gids: numbers((await run('/usr/bin/id', ['-G', '--', name])) ?? '') };
    }, now),
    group: cachedLookup(async (name: string) => {
      const gid = (await run('/usr/bin/getent', ['group', '--', name]))?.split(':')[2];
      return gid !== undefined && /^\d+$/.test(gid) ? Number(gid) : null;
    }, now),
  };
}

import type * as ChildProcess from 'node:child_process';
import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';

type Account = readonly string[];

const accountsIn = (text: string): readonly Account[] => text.split('\n').map((line) => line.split(':'));

/** The accounts of /etc/passwd, each as its fields (passwd(5)). Throws if that can't be read. */
export const localAccounts = (): readonly Account[] => accountsIn(readFileSync('/etc/passwd', 'utf8'));

/**
 * The fields of the account (passwd(5)) whose field `at` is `value`: by /etc/passwd, else by the name service (bounded);
 * null: nobody knows it.
 */
export function passwdEntry(at: 0 | 2, value: string): Account | null {
  const isMeant = (fields: Account): boolean => fields[at] === value;
  try {
    const local = localAccounts().find(isMeant);
    if (local !== undefined) return local;
    // Loaded only where needed: it would cost every delivery 9 ms.
    const { execFileSync } = require('node:child_process') as typeof ChildProcess;
    const found = execFileSync('/usr/bin/getent', ['passwd', value], {
      timeout: 2000,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return accountsIn(found).find(isMeant) ?? null;
  } catch {
    return null;
  }
}

/** Login name of a uid; the number itself when nobody knows it. */
export function userName(uid: number): string {
  return passwdEntry(2, String(uid))?.[0] || String(uid);
}

/** The caller's home directory: HOME if it is an absolute path, else the password database's; "/": not known. */
export function homeDirectory(env: NodeJS.ProcessEnv): string {
  if (env.HOME?.startsWith('/') === true) return env.HOME;
  try {
    return userInfo().homedir;
  } catch {
    return '/';
  }
}

/** The caller's login name; the uid if no name is known, as in containers. */
export function callerName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.geteuid?.() ?? '');
  }
}

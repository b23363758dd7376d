import type * as ChildProcess from 'node:child_process';
import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';

/** Login name of a uid: /etc/passwd first, then the name service (bounded); the number itself when nobody knows it. */
export function userName(uid: number): string {
  try {
    for (const line of readFileSync('/etc/passwd', 'utf8').split('\n')) {
      const fields = line.split(':');
      if (fields[2] === String(uid)) return fields[0] ?? String(uid);
    }
    // Loaded only where needed: it would cost every delivery 9 ms.
    const { execFileSync } = require('node:child_process') as typeof ChildProcess;
    const entry = execFileSync('/usr/bin/getent', ['passwd', String(uid)], { timeout: 2000, encoding: 'utf8' });
    return entry.split(':')[0] || String(uid);
  } catch {
    return String(uid);
  }
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

import { execFile } from 'node:child_process';

const AT_ONCE = 200;
const PATIENCE_MS = 20_000;

function getent(uids: readonly number[]): Promise<string> {
  return new Promise((resolve) => {
    const options = { timeout: PATIENCE_MS, encoding: 'utf8', env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' } } as const;
    // Its status says that some were not found; the others are printed all the same.
    execFile('/usr/bin/getent', ['passwd', ...uids.map(String)], options, (_error, stdout) => resolve(stdout));
  });
}

/** Names of users, as the name service has them; who is not found is left out. */
export async function namesOf(uids: readonly number[]): Promise<ReadonlyMap<number, string>> {
  const names = new Map<number, string>();
  for (let at = 0; at < uids.length; at += AT_ONCE)
    for (const line of (await getent(uids.slice(at, at + AT_ONCE))).split('\n')) {
      const [name = '', , uid = ''] = line.split(':');
      if (name !== '' && /^\d+$/.test(uid)) names.set(Number(uid), name);
    }
  return names;
}

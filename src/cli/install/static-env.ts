import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { codeOf } from '../../base/error-code';
import { loaderReason } from './elf';
import { untrusted } from '../../base/trusted-path';

const WITHIN_MS = 5000;

/** Whether the program does what a hook line needs: `-i` starts a shell with an empty environment. */
function clearsEnvironment(path: string): boolean {
  const { status } = spawnSync(path, ['-i', '/bin/sh', '-p', '-c', '[ -z "${QMEMACCT_PROBE-}" ] && exit 42'], {
    cwd: '/',
    env: { QMEMACCT_PROBE: 'there' },
    stdio: 'ignore',
    timeout: WITHIN_MS,
  });
  return status === 42;
}

/**
 * Why `path` must not be the `env` of a root hook if Grid Engine passes the job owner's LD_* variables to it; null: it
 * may be. The loader can't affect a static program, which is safe only if nobody but root can replace it.
 */
export function unsafeEnv(path: string): string | null {
  try {
    if (!statSync(path).isFile()) return 'is not a file';
    const reason = untrusted(path) ?? loaderReason(path);
    if (reason !== null) return reason;
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? 'is not there' : "can't be read";
  }
  return clearsEnvironment(path) ? null : 'does not start a shell with an empty environment, as "env -i" does';
}

export const STATIC_ENV_FIX =
  'give --env with a static one that only root can change, the same on every host: for one, a link named "env" to the busybox of busybox-static';

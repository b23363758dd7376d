import { mkdirSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';

export const QACCT = '/usr/lib/gridengine/qacct';

/** The environment in which qacct reads a file: the cell that it requires has only a name. */
export function qacctEnvironment(directory: string): NodeJS.ProcessEnv {
  const common = join(directory, 'cell', 'default', 'common');
  mkdirSync(common, { recursive: true });
  writeFileSync(join(common, 'act_qmaster'), `${hostname()}\n`);
  const bootstrap = { admin_user: 'none', default_domain: 'none', ignore_fqdn: 'false', spooling_method: 'classic' };
  const rest = { spooling_lib: 'none', spooling_params: '/', binary_path: '/', qmaster_spool_dir: '/' };
  const last = { security_mode: 'none', listener_threads: '2', worker_threads: '2', scheduler_threads: '1' };
  writeFileSync(
    join(common, 'bootstrap'),
    Object.entries({ ...bootstrap, ...rest, ...last })
      .map(([key, value]) => `${key} ${value}\n`)
      .join(''),
  );
  return { SGE_ROOT: join(directory, 'cell'), SGE_CELL: 'default', PATH: process.env.PATH };
}

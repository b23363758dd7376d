import { copyFileSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { codeOf } from '../../base/error-code';
import { RUN_NAME } from '../../sampler/job/run-directory';
import { setMode } from '../../base/set-owner';
import { readText } from '../../sources/files';
import { hookConfText, parseHookConf, type HookConf } from './hook-conf';

/** The directory that PREFIX/current points to after removal, with hooks that start only the site's own. */
export const PASS_THROUGH = 'uninstalled';

export const readHookConf = (directory: string): HookConf | null =>
  parseHookConf(readText(join(directory, 'hooks', 'hook.conf')) ?? '');

/** Writes PREFIX/uninstalled with the hooks of `source`; `conf`: that of the version it replaces. */
export function writePassThrough(prefix: string, source: string, conf: HookConf): void {
  const directory = join(prefix, PASS_THROUGH);
  const fresh = join(prefix, `.${PASS_THROUGH}.${randomBytes(6).toString('hex')}`);
  mkdirSync(join(fresh, 'hooks'), { recursive: true });
  const copy = (from: string, to: string): void => {
    const path = join(fresh, 'hooks', to);
    copyFileSync(join(source, 'hooks', from), path);
    setMode(path, 0o755);
  };
  copy('common.sh', 'common.sh');
  copy('pass-through.sh', 'prolog.sh');
  copy('pass-through.sh', 'epilog.sh');
  writeFileSync(join(fresh, 'hooks', 'hook.conf'), hookConfText(conf), { mode: 0o644 });
  setMode(fresh, 0o755);
  setMode(join(fresh, 'hooks'), 0o755);
  const old = join(prefix, `.${PASS_THROUGH}.${randomBytes(6).toString('hex')}`);
  try {
    renameSync(directory, old);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
  renameSync(fresh, directory);
  rmSync(old, { recursive: true, force: true });
}

/** Run directories of jobs that began with our hooks and have not ended. */
export function openRuns(conf: Pick<HookConf, 'state' | 'run'>): readonly string[] {
  return [`${conf.state}/run`, `${conf.state}/plain`, `${conf.run}/run`].flatMap((parent) => {
    try {
      return readdirSync(parent)
        .filter((name) => RUN_NAME.test(name))
        .map((name) => join(parent, name));
    } catch {
      return [];
    }
  });
}

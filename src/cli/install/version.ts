import { createHash, randomBytes } from 'node:crypto';
import { codeOf } from '../../base/error-code';
import {
  closeSync,
  copyFileSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { packageVersion } from '../../base/package-root';
import { programPath } from '../../base/programs';
import { setMode } from '../../base/set-owner';
import { hookConfText, shellQuoted, type ConfOfSettings, type HookConf } from './hook-conf';
import type { NodeBinary } from './local-path';
import { programFiles } from './program-files';

/** Replaces the version's own directory in the hashed text, because the directory's name contains the hash. */
const ITSELF = '@PROGRAM@';

/** One build of the program with one set of options: a directory that is written once and never changed. */
export interface Version {
  /** VERSION-BUILD; BUILD is a hash of all its files. */
  readonly name: string;
  readonly directory: string;
  /** Where the files come from. */
  readonly source: string;
  readonly files: readonly string[];
  readonly conf: HookConf;
  readonly node: NodeBinary;
}

/** First digits of a hash over the program's files, its hook.conf, and `ownNode`, a Node to be copied (null: none). */
function buildHash(root: string, files: readonly string[], conf: HookConf, ownNode: string | null): string {
  const hash = createHash('sha256');
  const add = (name: string, path: string): void => {
    const content = createHash('sha256').update(readFileSync(path)).digest('hex');
    hash.update(`${name}\n${content}\n`);
  };
  for (const file of files) add(file, join(root, file));
  if (ownNode !== null) add('bin/node', ownNode);
  return hash.update(hookConfText(conf)).digest('hex').slice(0, 10);
}

/** Name and contents that an installation of `source` under `prefix` would have. Throws if files are missing. */
export function describeVersion(source: string, prefix: string, options: ConfOfSettings, node: NodeBinary): Version {
  const files = programFiles(source);
  const confIn = (directory: string): HookConf => ({
    ...options,
    program: directory,
    node: node.copyReason === null ? node.path : join(directory, 'bin', 'node'),
  });
  const ownNode = node.copyReason === null ? null : node.path;
  const name = `${packageVersion(source)}-${buildHash(source, files, confIn(ITSELF), ownNode)}`;
  const directory = join(prefix, name);
  return { name, directory, source, files, conf: confIn(directory), node };
}

/** Whether an installed version's files still have the hash in its name. */
export function isIntact(version: Pick<Version, 'directory' | 'name' | 'conf'>): boolean {
  const { directory, conf } = version;
  const itself = (path: string): string => path.replace(directory, ITSELF);
  try {
    const hash = buildHash(
      directory,
      programFiles(directory),
      { ...conf, program: itself(conf.program), node: itself(conf.node) },
      conf.node.startsWith(`${directory}/`) ? conf.node : null,
    );
    return (
      version.name.endsWith(`-${hash}`) &&
      readFileSync(join(directory, 'hooks', 'hook.conf'), 'utf8') === hookConfText(conf)
    );
  } catch {
    return false;
  }
}

/** Text of the installed command, which starts the hooks' Node, whatever PATH says. */
function launcher(conf: HookConf): string {
  return `#!/bin/sh\nexec ${shellQuoted(conf.node)} ${shellQuoted(programPath('cli/main', conf.program))} "$@"\n`;
}

/** Syncs a hook to disk: one that a power cut leaves empty would not start the site's own hook. */
function toDisk(path: string): void {
  const file = openSync(path, 'r');
  fsyncSync(file);
  closeSync(file);
}

function fill(target: string, { source, files, conf, node }: Version): void {
  const directories = new Set(['bin', 'hooks', ...files.map((file) => dirname(file))]);
  for (const directory of directories) mkdirSync(join(target, directory), { recursive: true });
  for (const file of files) {
    // For a few thousand small files, copyFile would take twice as long.
    const mode = /\.(?:sh|jsv)$/.test(file) ? 0o755 : 0o644;
    writeFileSync(join(target, file), readFileSync(join(source, file)), { mode });
  }
  writeFileSync(join(target, 'hooks', 'hook.conf'), hookConfText(conf), { mode: 0o644 });
  writeFileSync(join(target, 'bin', 'qmemacct'), launcher(conf), { mode: 0o755 });
  if (node.copyReason !== null) {
    copyFileSync(node.path, join(target, 'bin', 'node'));
    setMode(join(target, 'bin', 'node'), 0o755);
  }
  for (const name of files.filter((file) => file.startsWith('hooks/'))) toDisk(join(target, name));
}

/**
 * Writes the version's directory, all of it or nothing. An intact one stays, as another host that shares the prefix may
 * have written it first. A damaged one is replaced.
 */
export function writeVersion(version: Version): void {
  if (isIntact(version)) return;
  const prefix = dirname(version.directory);
  const suffix = randomBytes(6).toString('hex');
  const fresh = join(prefix, `.${version.name}.${suffix}`);
  const umask = process.umask(0o022);
  try {
    fill(fresh, version);
    for (let attempt = 0; ; attempt++) {
      try {
        renameSync(fresh, version.directory);
        return;
      } catch (error) {
        const code = codeOf(error);
        if (attempt > 0 || (code !== 'ENOTEMPTY' && code !== 'EEXIST' && code !== 'ENOTDIR')) throw error;
        if (isIntact(version)) return;
        const damaged = join(prefix, `.${version.name}.${suffix}.damaged`);
        renameSync(version.directory, damaged);
        rmSync(damaged, { recursive: true, force: true });
      }
    }
  } finally {
    process.umask(umask);
    rmSync(fresh, { recursive: true, force: true });
  }
}

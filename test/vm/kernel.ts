import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import * as path from 'node:path';

/** Modules that the machine needs, in loading order: each after the modules on which it depends. */
export const moduleNames = [
  'virtio_ring',
  'virtio',
  'virtio_pci_legacy_dev',
  'virtio_pci_modern_dev',
  'virtio_pci',
  'virtio_blk',
  'netfs',
  'fscache',
  '9pnet',
  '9pnet_virtio',
  '9p',
  'overlay',
  'dummy',
] as const;

export interface Kernel {
  /** Its Debian package, for example linux-image-6.1.0-56-amd64. */
  readonly packageName: string;
  /** Path of the bootable image. */
  readonly image: string;
  /** Path of each module, in loading order. */
  readonly modules: readonly string[];
}

/** Directory that keeps fetched kernels between runs. */
function cacheDirectory(): string {
  const base = process.env.XDG_CACHE_HOME || path.join(homedir(), '.cache');
  return path.join(base, 'qmemacct-test', 'vm');
}

/**
 * The kernel to boot: the cached one, if there is one, else Debian's current one, fetched from its archive (about 70 MB,
 * some seconds) and cached. Throws if there is none and none can be fetched.
 */
export function ensureKernel(): Kernel {
  const cache = cacheDirectory();
  const cached = newestCached(cache);
  if (cached !== null) return cached;

  mkdirSync(cache, { recursive: true });
  const work = mkdtempSync(path.join(cache, 'fetch-'));
  try {
    const packageName = currentPackage();
    runTool('apt-get', ['download', '-o', 'APT::Sandbox::User=root', packageName], work);
    const archive = readdirSync(work).find((name) => name.endsWith('.deb'));
    if (archive === undefined) throw new Error(`apt-get download ${packageName} left no .deb file in ${work}`);
    const tree = path.join(work, 'tree');
    runTool('dpkg', ['-x', path.join(work, archive), tree], work);
    const kept = path.join(work, 'kept');
    keepNeeded(tree, kept, packageName);
    const target = path.join(cache, packageName);
    rmSync(target, { recursive: true, force: true });
    try {
      renameSync(kept, target);
    } catch (error) {
      // Another process may have put one there at the same time.
      if (newestCached(cache) === null) throw error;
    }
    return kernelIn(target);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** The newest complete kernel in the cache, or null. */
function newestCached(cache: string): Kernel | null {
  if (!existsSync(cache)) return null;
  const byVersion = new Intl.Collator('en', { numeric: true });
  const names = readdirSync(cache).filter((name) => name.startsWith('linux-image-'));
  const complete = names
    .sort((a, b) => byVersion.compare(b, a))
    .map((name) => kernelIn(path.join(cache, name)))
    .find((kernel) => [kernel.image, ...kernel.modules].every((file) => existsSync(file)));
  return complete ?? null;
}

function kernelIn(directory: string): Kernel {
  return {
    packageName: path.basename(directory),
    image: path.join(directory, 'vmlinuz'),
    modules: moduleNames.map((name) => path.join(directory, `${name}.ko`)),
  };
}

/** Name of the package behind Debian's linux-image-amd64. (The cloud flavour would lack 9p.) */
function currentPackage(): string {
  const listing = runTool('apt-cache', ['depends', 'linux-image-amd64'], '/');
  const name = /^\s*Depends: (linux-image-\S+)$/m.exec(listing)?.[1];
  if (name === undefined) {
    throw new Error('apt knows no package linux-image-amd64: run "apt-get update" on a Debian machine');
  }
  return name;
}

/** Copies image and needed modules (10 MB of 400 MB) out of an unpacked package. */
function keepNeeded(tree: string, kept: string, packageName: string): void {
  mkdirSync(kept);
  const version = packageName.replace(/^linux-image-/, '');
  copyFileSync(path.join(tree, 'boot', `vmlinuz-${version}`), path.join(kept, 'vmlinuz'));
  const modulesRoot = path.join(tree, 'lib', 'modules', version, 'kernel');
  const files = readdirSync(modulesRoot, { recursive: true, encoding: 'utf8' });
  for (const name of moduleNames) {
    const file = files.find((candidate) => path.basename(candidate) === `${name}.ko`);
    if (file === undefined) throw new Error(`${packageName} has no ${name}.ko: adapt moduleNames in test/vm/kernel.ts`);
    copyFileSync(path.join(modulesRoot, file), path.join(kept, `${name}.ko`));
  }
}

function runTool(command: string, args: readonly string[], cwd: string): string {
  const env = { ...process.env, LC_ALL: 'C' };
  try {
    return execFileSync(command, args, {
      cwd,
      env,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 300_000,
    });
  } catch (error) {
    const stderr = error instanceof Error && 'stderr' in error && typeof error.stderr === 'string' ? error.stderr : '';
    throw new Error(`${command} ${args.join(' ')} failed: ${stderr.trim() || String(error)}`, { cause: error });
  }
}

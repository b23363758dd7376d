import { spawnSync } from 'node:child_process';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../src/base/package-root';
import { temporaryDirectory } from '../support/temporary-directory';

/** Builds of test/native/nvml-stub.c, the stand-in for libnvidia-ml.so.1. */
const BUILDS = { current: [], old: ['-DOLD_DRIVER'], wide: ['-DWIDE_PROCESSES'] } as const;

const flags = ['-std=c11', '-D_GNU_SOURCE', '-O1', '-Wall', '-Wextra', '-Werror', '-fPIC', '-shared'];
const compiler = process.env.CC || 'gcc';

/** Why the stub can't be compiled here; null: it can. */
export function stubObstacle(): string | null {
  const run = spawnSync(compiler, ['-x', 'c', '-include', 'stdio.h', '-fsyntax-only', '/dev/null']);
  if (run.error) return `no C compiler: ${run.error.message}`;
  return run.status === 0 ? null : 'the C compiler finds no libc headers';
}

const directory = temporaryDirectory();

const built = new Map<keyof typeof BUILDS, string>();

/** Path of the stub library. */
export function stubLibrary(build: keyof typeof BUILDS = 'current'): string {
  const known = built.get(build);
  if (known !== undefined) return known;
  const path = join(directory, `libnvidia-ml-${build}.so.1`);
  const source = join(packageRoot(), 'test', 'native', 'nvml-stub.c');
  const run = spawnSync(compiler, [...flags, ...BUILDS[build], source, '-o', path], { encoding: 'utf8' });
  if (run.status !== 0) throw new Error(`${compiler} ${source}: ${run.stderr}`);
  built.set(build, path);
  return path;
}

/** Sets what the stub's driver answers from now on, in every process; the format is in nvml-stub.c. */
export function setStub(state: Readonly<Record<string, string | number>>): void {
  const path = join(directory, 'state');
  const lines = Object.entries(state).map(([key, value]) => `${key} ${value}\n`);
  writeFileSync(`${path}.new`, lines.join(''));
  renameSync(`${path}.new`, path);
}

export const A100 = 'GPU-5c89852c-d268-c3f3-1b07-005d5ae1dc3f';
export const T4 = 'GPU-0f9d2a44-7b1e-4f0c-9a53-6e2b8d1c7f90';
export const MIG_A = 'MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f';
export const MIG_B = 'MIG-0e3a2b1c-7d4f-5a6b-8c9d-112233445566';

export const GIB = 1024 ** 3;

/** Two GPUs; 4242 computes on the first one, 4243 draws and computes there. */
export const TWO_GPUS: Readonly<Record<string, string | number>> = {
  count: 2,
  '0.uuid': A100,
  '0.memory': `${80 * GIB} ${GIB / 2} ${70 * GIB} ${9 * GIB}`,
  '0.rates': '97 41',
  '0.power': 312456,
  '0.energy': '9876543210',
  '0.temperature': 61,
  '0.compute': `4242:${8 * GIB} 4243:${GIB}`,
  '0.graphics': `4243:${GIB}`,
  '0.samples': '4242:1000000:80 4242:2000000:90 4243:2000000:5',
  '0.accounting': 1,
  '0.accounted': `99:50:${3 * GIB}:0 4242:91:${12 * GIB}:1`,
  '0.mig': 0,
  '1.uuid': T4,
  '1.memory': `${16 * GIB} 0 ${16 * GIB} 0`,
  '1.rates': '0 0',
  '1.power': 9500,
  '1.temperature': 31,
  '1.accounting': 0,
};

/** The first GPU cut into two instances, of which the one with index 1 is in use. */
export const WITH_MIG: Readonly<Record<string, string | number>> = {
  ...Object.fromEntries(
    Object.entries(TWO_GPUS).filter(([key]) => !/^0\.(compute|graphics|rates|samples|accounting)$/.test(key)),
  ),
  '0.mig': 1,
  '0.migs': 7,
  '0/1.uuid': MIG_A,
  '0/1.memory': `${40 * GIB} 0 ${38 * GIB} ${2 * GIB}`,
  '0/1.compute': `4242:${2 * GIB}`,
  '0/4.uuid': MIG_B,
  '0/4.mebibytes': 9856,
};

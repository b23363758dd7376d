import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { packageRoot } from '../../src/base/package-root';

const FLAGS = ['-std=c11', '-D_GNU_SOURCE', '-O2', '-Wall', '-Wextra', '-Werror'];

/** Directory of the benchmarks' sources that are not TypeScript. */
export function benchSource(name: string): string {
  return join(packageRoot(), 'test', 'bench', name);
}

/** Compiles `test/bench/NAME.c` into `directory`. Throws with the compiler's message. */
export function compile(name: string, directory: string): string {
  const compiler = process.env.CC || 'cc';
  const target = join(directory, name);
  const { status, error, stderr } = spawnSync(compiler, [...FLAGS, benchSource(`${name}.c`), '-o', target], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`${compiler} ${name}.c: ${error?.message ?? stderr}`);
  return target;
}

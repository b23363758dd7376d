import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { packageRoot } from '../../src/base/package-root';
import { PROGRAMS, programPath } from '../../src/base/programs';

describe('the programs that Node is started with', () => {
  it('are there', () => {
    for (const program of PROGRAMS) assert.ok(existsSync(programPath(program)), program);
  });

  it('are found by programPath alone: in a bundle, __dirname is that of the bundle', () => {
    const source = join(packageRoot(), 'src');
    const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'));
    assert.deepEqual(
      files.filter((path) => readFileSync(join(source, path), 'utf8').includes('__dirname')),
      ['base/package-root.ts'],
    );
  });

  it('include those that the hooks start, so that a release has them', () => {
    const directory = join(packageRoot(), 'hooks');
    const hooks = readdirSync(directory).map((name) => readFileSync(join(directory, name), 'utf8'));
    // common.sh is handed the names of those of the sampler.
    const started = hooks.flatMap((text) => [
      ...[...text.matchAll(/dist\/src\/([\w/-]+)\.js/g)].map(([, program]) => program),
      ...[...text.matchAll(/\bqm_node (\w+)\.js/g)].map(([, program]) => `sampler/${program}`),
    ]);
    const known: ReadonlySet<string | undefined> = new Set<string>(PROGRAMS);
    assert.ok(started.length >= 5);
    assert.deepEqual(
      started.filter((program) => !known.has(program)),
      [],
    );
  });
});

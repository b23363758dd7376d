import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { packageRoot } from '../../src/base/package-root';
import { PROGRAMS, programPath } from '../../src/base/programs';

describe('the list of programs started with Node', () => {
  it('names only files that exist', () => {
    for (const program of PROGRAMS) assert.ok(existsSync(programPath(program)), program);
  });

  it('is the only way to find a file: no other source uses __dirname, which differs in a bundle', () => {
    const directory = join(packageRoot(), 'src');
    const sources = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter(
      (path) => path.endsWith('.ts') && readFileSync(join(directory, path), 'utf8').includes('__dirname'),
    );
    assert.deepEqual(sources, ['base/package-root.ts']);
  });

  it('includes the programs that hooks start, so that a release has them', () => {
    const directory = join(packageRoot(), 'hooks');
    const hooks = readdirSync(directory).map((name) => readFileSync(join(directory, name), 'utf8'));
    // common.sh gets the names of the sampler's programs as arguments of qm_node.
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

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, it } from 'node:test';
import { packageRoot } from '../src/base/package-root';

const EXPORT = /^export (?:async )?(?:function|const|class|interface|type|let|enum) (\w+)/gm;
/** `from './x'`, `import('./x')`, `require('./x')`; also a package's. */
const IMPORT = /(?:\bfrom |\bimport |\bimport\(|\brequire\(|\bresolve\()'([^']+)'/g;
/** A program that is started, by the name that the compiler gives it. */
const STARTED = /\b([\w-]+)\.js\b/g;
/** Types that the compiler checks, which nothing needs at run time, end in this. */
const COMPILE_TIME = 'IsListed';
/** Packages that scripts start or the compiler reads. */
const TOOLS = ['esbuild', 'eslint', 'prettier', 'typescript', '@types/node'];

function textsBelow(directory: string, isWanted: (name: string) => boolean): ReadonlyMap<string, string> {
  const root = join(packageRoot(), directory);
  const names = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(isWanted);
  return new Map(names.map((name) => [join(directory, name), readFileSync(join(root, name), 'utf8')]));
}

const source = textsBelow('src', (name) => name.endsWith('.ts'));
const tests = textsBelow('test', (name) => name.endsWith('.ts'));
const all = new Map([...source, ...tests]);
const manifest = readFileSync(join(packageRoot(), 'package.json'), 'utf8');
/** Texts that start programs, besides the program itself. */
const launchers = [...textsBelow('bin', () => true), ...textsBelow('hooks', () => true)].map(([, text]) => text);

function imports(text: string): readonly string[] {
  return [...text.matchAll(IMPORT)].map(([, name = '']) => name);
}

/** The files among `texts` that these roots need, however many steps away; the roots too. */
function needed(roots: readonly string[], texts: ReadonlyMap<string, string>): ReadonlySet<string> {
  const found = new Set<string>();
  const waiting = [...roots];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    const text = texts.get(file);
    if (text === undefined || found.has(file)) continue;
    found.add(file);
    for (const name of imports(text))
      if (name.startsWith('.')) waiting.push(`${normalize(join(dirname(file), name.replace(/\.js$/, '')))}.ts`);
  }
  return found;
}

/** Files whose program one of these texts names. */
function started(texts: Iterable<string>, files: Iterable<string>): readonly string[] {
  const names = new Set([...texts].flatMap((text) => [...text.matchAll(STARTED)].map(([, name = '']) => name)));
  return [...files].filter((file) => names.has(/([^/]+)\.ts$/.exec(file)?.[1] ?? ''));
}

function dependencies(kind: 'dependencies' | 'devDependencies' | 'optionalDependencies'): readonly string[] {
  return Object.keys((JSON.parse(manifest) as Record<string, object>)[kind] ?? {});
}

describe('the repository', () => {
  it('uses every export of src in another module', () => {
    const users = new Map<string, Set<string>>();
    for (const [file, text] of all)
      for (const [word] of text.matchAll(/\b[A-Za-z_]\w*\b/g))
        users.set(word, (users.get(word) ?? new Set()).add(file));
    const unused = [...source].flatMap(([file, text]) =>
      [...text.matchAll(EXPORT)].flatMap(([, name = '']) =>
        (users.get(name)?.size ?? 0) <= 1 && !name.endsWith(COMPILE_TIME) ? [`${file}: ${name}`] : [],
      ),
    );
    assert.deepEqual(unused, [], 'not exported, or not there');
  });

  it('uses every file of src in the program itself or a script of package.json', () => {
    const roots = [...started([...launchers, ...source.values()], source.keys()), ...started([manifest], tests.keys())];
    const used = needed(roots, all);
    assert.deepEqual(
      [...source.keys()].filter((file) => !used.has(file)),
      [],
      'only tests need these',
    );
  });

  it('uses every file of test in a test or a script', () => {
    const scripts = started([manifest, ...tests.values()], tests.keys());
    const used = needed([...[...tests.keys()].filter((file) => file.endsWith('.test.ts')), ...scripts], all);
    assert.deepEqual(
      [...tests.keys()].filter((file) => !used.has(file)),
      [],
    );
  });

  it('uses every dependency in src, or those for development in tests or tools', () => {
    const packagesOf = (texts: Iterable<string>): ReadonlySet<string> =>
      new Set([...texts].flatMap(imports).map((name) => /^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name));
    const atRunTime = packagesOf(source.values());
    const tools = ['eslint.config.mjs', '.ci/bundle.mjs'].map((path) =>
      readFileSync(join(packageRoot(), path), 'utf8'),
    );
    const everywhere = new Set([...packagesOf([...all.values(), ...tools]), ...TOOLS]);
    assert.deepEqual(
      [...dependencies('dependencies'), ...dependencies('optionalDependencies')].filter((name) => !atRunTime.has(name)),
      [],
    );
    assert.deepEqual(
      dependencies('devDependencies').filter((name) => !everywhere.has(name.replace(/^@types\/(?!node$)/, ''))),
      [],
    );
  });
});

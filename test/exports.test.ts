import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { packageRoot } from '../src/base/package-root';

const EXPORT = /^export (?:async )?(?:function|const|class|interface|type|let|enum) (\w+)/gm;
/** Checks of the compiler's: nobody needs them at run time. */
const COMPILE_TIME = 'IsListed';

function textsBelow(directory: string): ReadonlyMap<string, string> {
  const root = join(packageRoot(), directory);
  const names = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  return new Map(names.map((name) => [join(directory, name), readFileSync(join(root, name), 'utf8')]));
}

it('every export of src is used by another module', () => {
  const texts = new Map([...textsBelow('src'), ...textsBelow('test')]);
  const users = new Map<string, Set<string>>();
  for (const [file, text] of texts)
    for (const [word] of text.matchAll(/\b[A-Za-z_]\w*\b/g)) users.set(word, (users.get(word) ?? new Set()).add(file));
  const unused = [...texts]
    .filter(([file]) => file.startsWith('src/'))
    .flatMap(([file, text]) =>
      [...text.matchAll(EXPORT)].flatMap(([, name = '']) =>
        (users.get(name)?.size ?? 0) <= 1 && !name.endsWith(COMPILE_TIME) ? [`${file}: ${name}`] : [],
      ),
    );
  assert.deepEqual(unused, [], 'not exported, or not there');
});

import { createRequire } from 'node:module';
import type { test } from 'node:test';

const load = createRequire(__filename);
const functions = load('node:test') as Record<'describe' | 'it' | 'test', typeof test>;
let begun = 0;
for (const name of ['describe', 'it', 'test'] as const)
  functions[name] = new Proxy(functions[name], {
    apply: (target, self, given) => {
      begun += 1;
      return Reflect.apply(target, self, given) as unknown;
    },
  });

// Loads the test files that the arguments name into this process, where their tests run one after the other.
for (const path of process.argv.slice(2)) {
  const before = begun;
  load(path);
  if (begun === before) throw new Error(`${path} has no test`);
}

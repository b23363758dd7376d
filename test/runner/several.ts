import { createRequire } from 'node:module';

const load = createRequire(__filename);
// The test files that the arguments name, in this process: their tests run one after the other.
for (const path of process.argv.slice(2)) load(path);

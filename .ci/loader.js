'use strict';
// What Node is started with in a release: the bundle beside this file, and what V8 made of it when it was packed
// (bundle.mjs), so that it needs no parsing. V8 leaves that aside where Node or its options are others.
const { readFileSync } = require('node:fs');
const { Script } = require('node:vm');

const path = __filename.slice(0, -'.js'.length);
const cachedData = readFileSync(`${path}.cache`);
const script = new Script(readFileSync(`${path}.bundle.js`, 'latin1'), { filename: `${path}.bundle.js`, cachedData });
script.runInThisContext()(exports, require, module, __filename, __dirname);

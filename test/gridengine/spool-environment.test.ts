import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import fc from 'fast-check';

import { parseSpoolEnvironment } from '../../src/gridengine/spool-environment';

/** Writes an environment as execd does, with its escapes. */
function write(environment: ReadonlyMap<string, string>): string {
  const escape = (value: string): string => value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
  return [...environment].map(([name, value]) => `${name}=${escape(value)}\n`).join('');
}

describe('parseSpoolEnvironment', () => {
  it('reads names and values, with escapes', () => {
    const text = 'PATH=/tmp/1.1.q:/usr/bin\nF=a=b\nBASH_FUNC_x%%=() {\\n echo "\\\\n"\\n}\nEMPTY=\nX=1\nX=2\n';
    assert.deepEqual(
      parseSpoolEnvironment(text),
      new Map([
        ['PATH', '/tmp/1.1.q:/usr/bin'],
        ['F', 'a=b'],
        ['BASH_FUNC_x%%', '() {\n echo "\\n"\n}'],
        ['EMPTY', ''],
        ['X', '2'],
      ]),
    );
  });

  it('skips lines without a name and leaves other backslashes alone', () => {
    assert.deepEqual(parseSpoolEnvironment('\n=x\nno\nA=\\t\\\n'), new Map([['A', '\\t\\']]));
  });

  it('reads back what execd writes', () => {
    const names = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_%()]{0,10}$/);
    const values = fc.string().filter((value) => !value.includes('\0'));
    fc.assert(
      fc.property(fc.array(fc.tuple(names, values)), (pairs) => {
        const environment = new Map(pairs);
        assert.deepEqual(parseSpoolEnvironment(write(environment)), environment);
      }),
    );
  });
});

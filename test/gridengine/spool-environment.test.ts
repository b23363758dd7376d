import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import fc from 'fast-check';

import { parseSpoolEnvironment, sanitise } from '../../src/gridengine/spool-environment';

/** As execd escapes values. */
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

describe('sanitise', () => {
  const kept = (pairs: readonly (readonly [string, string])[], dialect?: 'daimh'): string[] => [
    ...sanitise(new Map(pairs), dialect).keys(),
  ];

  it('drops what the shepherd drops for a privileged hook, by prefix', () => {
    const names = [
      'LD_PRELOAD',
      'LD_AUDIT',
      '_RLD_LIST',
      'TMPDIR',
      'ENV',
      'ENVIRONMENT',
      'BASH_ENV',
      'IFS',
      'TERMINFO_DIRS',
    ];
    assert.deepEqual(kept([...names, 'JAVA_TOOL_OPTIONS', 'PS4'].map((name) => [name, 'x'] as const)), []);
  });

  it('leaves what the shepherd leaves, dangerous or not', () => {
    const names = [
      'PATH',
      'HOME',
      'NODE_OPTIONS',
      'NODE_PATH',
      'OPENSSL_CONF',
      'PYTHONPATH',
      'PERL5LIB',
      'FOO',
      'BASH_FUNC_x%%',
    ];
    assert.deepEqual(kept(names.map((name) => [name, 'x'] as const)), names);
  });

  it('drops locales with odd values', () => {
    assert.deepEqual(
      kept([
        ['LANG', 'en_GB.UTF-8'],
        ['LC_ALL', '../../home/x'],
        ['LANGUAGE', 'de:en'],
        ['LC_TIME', 'C'],
        ['LINGUAS', ''],
      ]),
      ['LANG', 'LC_TIME'],
    );
  });

  it('drops odd names in the daimh fork only', () => {
    const pairs = [['BASH_FUNC_x%%', '() { :; }']] as const;
    assert.deepEqual(kept(pairs, 'daimh'), []);
    assert.equal(kept(pairs).length, 1);
  });
});

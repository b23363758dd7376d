import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseSettings, SettingsError } from '../../src/record/settings';

const GOOD = { name: '"a"', kind: '"influx"', address: '"http://h:8086/write?db=x"', what: '"node"' };

function tableOf(changes: Readonly<Record<string, string | null>>): string {
  const given: Readonly<Record<string, string | null>> = { ...GOOD, ...changes };
  const lines = Object.entries(given).flatMap(([key, value]) => (value === null ? [] : [`${key} = ${value}`]));
  return `[[export]]\n${lines.join('\n')}\n`;
}

function problem(...tables: readonly Readonly<Record<string, string | null>>[]): string {
  try {
    parseSettings(tables.map(tableOf).join(''), 'x.toml');
  } catch (error) {
    assert.ok(error instanceof SettingsError);
    assert.ok(!error.message.includes('\n'));
    return error.message;
  }
  return assert.fail(`was accepted: ${JSON.stringify(tables)}`);
}

describe('[[export]]', () => {
  it('is a sink with default values for the keys that are not given', () => {
    assert.deepEqual(parseSettings(tableOf({ labels: '{ site = "x" }' }), 'x.toml').export, [
      {
        name: 'a',
        kind: 'influx',
        address: 'http://h:8086/write?db=x',
        what: 'node',
        interval: 60,
        labels: { site: 'x' },
        user: '',
        credentials: '',
        ca: '',
        names: 'qmemacct',
        spool_mib: 64,
      },
    ]);
    for (const changes of [
      { kind: '"graphite"', address: '"tcp://[::1]:2003"', names: '"fructosa"' },
      { kind: '"elasticsearch"', address: '"https://h/qmemacct"', what: '"records"', credentials: '"/k"' },
      { address: '"http://127.0.0.1:8086/write"', credentials: '"/k"', user: '"u"' },
    ])
      assert.equal(parseSettings(tableOf(changes), 'x.toml').export.length, 1);
  });

  it('is refused with one line that names what is wrong', () => {
    for (const [changes, expected] of [
      [
        { kind: '"kafka"' },
        /^x\.toml: "export\[0\]\.kind" is none of graphite, .*; write \[\[export\]\] and keys below/,
      ],
      [{ name: null }, /name" is not a string/],
      [{ name: '"a/b"' }, /name" is not a name of letters/],
      [{ name: '".."' }, /name" is not a name/],
      [{ interval: '0' }, /interval" is not a number of 1 to 3600/],
      [{ colour: '"red"' }, /"export\[0\]" has the unknown key "colour" \(known are name, kind, /],
      [{ labels: '{ "a b" = "x" }' }, /labels" has a key that is no name of a label/],
      [{ credentials: '"secret"' }, /credentials" is not an absolute path/],
      [{ address: '"h:8086"' }, /has an "address" that is not http\(s\):\/\/HOST/],
      [{ address: '"http://u:p@h/write"' }, /holds a user or password/],
      [{ credentials: '"/k"' }, /readable over the network: write https/],
      [{ user: '"u"' }, /has a "user" and no "credentials"/],
      [{ kind: '"graphite"' }, /is not tcp:\/\/HOST:PORT or tls/],
      [{ kind: '"graphite"', address: '"tcp://h"' }, /is not tcp:\/\/HOST:PORT or tls/],
      [{ kind: '"graphite"', address: '"tls://h:1"', user: '"u"' }, /which knows no "user"/],
      [{ what: '"records"' }, /records go to elasticsearch/],
      [{ kind: '"elasticsearch"', address: '"https://h/x"' }, /records go to elasticsearch/],
      [{ kind: '"elasticsearch"', what: '"records"', address: '"https://h/"' }, /names no index/],
      [{ names: '"fructosa"' }, /which are for what = "node" sent to Graphite/],
    ] as const)
      assert.match(problem(changes), expected);
    assert.match(problem({}, {}), /"export" has two sinks with the name "a"/);
    assert.throws(() => parseSettings('export = "x"', 'x.toml'), /"export" is not a list/);
    assert.throws(() => parseSettings('export = [1]', 'x.toml'), /"export\[0\]" is not a table/);
  });
});

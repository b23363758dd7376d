import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { DEFAULT_SETTINGS, parseSettings, type Settings } from '../../src/record/settings';
import { chooseSource, sourceSettingsProblems } from '../../src/sampler/source-settings';
import { ALL_SOURCE_FACTS } from '../../src/sources/registry';
import type { OptionValue } from '../../src/record/setting';

const thermometer = {
  name: 'thermometer',
  interval: 10,
  enabled: true,
  options: { path: '/dev/x', most: 3, kelvin: false, zones: ['a'] },
} as const;

const given = (toml: string): Settings => parseSettings(toml, 'x');
const chosen = (toml: string) => chooseSource(thermometer, given(toml));
const problems = (toml: string) => sourceSettingsProblems([thermometer], given(toml));

describe("a source's settings", () => {
  it("are the source's defaults where the site sets nothing", () => {
    assert.deepEqual(chosen(''), { enabled: true, intervalMs: 10_000, options: thermometer.options });
    assert.deepEqual(problems(''), []);
  });

  it('are the ones that the site sets', () => {
    const toml =
      '[sources.thermometer]\nenabled = false\ninterval = 0.5\npath = "/y"\nmost = 4.5\nkelvin = true\nzones = []\n';
    assert.deepEqual(chosen(toml), {
      enabled: false,
      intervalMs: 500,
      options: { path: '/y', most: 4.5, kelvin: true, zones: [] },
    });
    assert.deepEqual(problems(toml), []);
  });

  it('are reported and ignored where they have the wrong type', () => {
    const toml =
      '[sources.thermometer]\nenabled = "no"\ninterval = "1"\npath = 1\nmost = ["x"]\nkelvin = 0\nzones = "a"\n';
    assert.deepEqual(chosen(toml), chosen(''));
    assert.deepEqual(problems(toml), [
      '[sources.thermometer] enabled: a string where a boolean is wanted',
      '[sources.thermometer] interval: a string where a number is wanted',
      '[sources.thermometer] path: a number where a string is wanted',
      '[sources.thermometer] most: a list of strings where a number is wanted',
      '[sources.thermometer] kelvin: a number where a boolean is wanted',
      '[sources.thermometer] zones: a string where a list of strings is wanted',
    ]);
  });

  it('are reported where the source or the key is unknown', () => {
    assert.deepEqual(problems('[sources.thermometre]\n[sources.thermometer]\ncolour = "red"\n"to\\nString" = 1\n'), [
      '[sources.thermometre]: no such source; known are thermometer',
      '[sources.thermometer] colour: unknown; known are enabled, interval, path, most, kelvin, zones',
      '[sources.thermometer] "to\\nString": unknown; known are enabled, interval, path, most, kelvin, zones',
    ]);
    assert.match(problems('[sources.thermometer]\nconstructor = "x"\n')[0] ?? '', /constructor: unknown/);
    assert.match(problems('[sources."a\\nb"]\n')[0] ?? '', /^\[sources\."a\\nb"\]: no such source/);
  });

  it('bring the interval into 0.05 to 86400 s, and report where they do', () => {
    for (const [toml, intervalMs] of [
      ['0', 50],
      ['-7', 50],
      ['nan', 10_000],
      ['inf', 86_400_000],
      ['-inf', 50],
      ['3000000', 86_400_000],
    ] as const) {
      const table = `[sources.thermometer]\ninterval = ${toml}\n`;
      assert.equal(chosen(table).intervalMs, intervalMs, toml);
      assert.match(problems(table).join(), /interval: not 0.05 to 86400 s$/, toml);
    }
  });

  it('are usable whatever the tables hold', () => {
    const value = fc.oneof(fc.string(), fc.double(), fc.boolean(), fc.array(fc.string()));
    const key = fc.oneof(fc.string(), fc.constantFrom('enabled', 'interval', 'events', 'command', 'timeout'));
    const name = fc.oneof(fc.string(), fc.constantFrom(...ALL_SOURCE_FACTS.map((source) => source.name)));
    const tables = fc.dictionary(name, fc.dictionary(key, value as fc.Arbitrary<OptionValue>));
    fc.assert(
      fc.property(tables, (sources) => {
        const settings = { ...DEFAULT_SETTINGS, sources };
        for (const problem of sourceSettingsProblems(ALL_SOURCE_FACTS, settings)) assert.doesNotMatch(problem, /\n/);
        for (const source of ALL_SOURCE_FACTS) {
          const { intervalMs, options } = chooseSource(source, settings);
          assert.ok(intervalMs >= 50 && intervalMs <= 86_400_000);
          assert.deepEqual(Object.keys(options), Object.keys(source.options));
        }
      }),
    );
  });
});

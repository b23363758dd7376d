import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { settingsText } from '../../../src/cli/install/settings-text';
import { DEFAULT_SETTINGS, parseSettings } from '../../../src/record/settings';
import { chooseSource, sourceSettingsProblems } from '../../../src/sampler/source-settings';
import { ALL_SOURCE_FACTS } from '../../../src/sources/registry';

describe('settingsText', () => {
  it('explains every key and sets the chosen ones', () => {
    const chosen = {
      cluster: 'main',
      deliver_as: 'sge"admin',
      request_complex: ['h_rss', 's_rss'],
      request_complex_by_queue: { 'big.q': ['mem_free', 'h_vmem'], all: [] },
      interval: 2.5,
    };
    assert.deepEqual(parseSettings(settingsText(chosen), 'x'), { ...DEFAULT_SETTINGS, ...chosen });
    for (const key of Object.keys(DEFAULT_SETTINGS))
      assert.match(settingsText({}), new RegExp(`^#(?:${key} = |\\[+${key}[\\].])`, 'm'));
  });

  it('is valid, and means the defaults, when each # before a key is removed', () => {
    const text = settingsText({}).replace(/^#(?=[\w[])/gm, '');
    const settings = parseSettings(text, 'x');
    assert.deepEqual({ ...settings, export: [], sources: {} }, DEFAULT_SETTINGS);
    assert.deepEqual([Object.keys(settings.sources).length, settings.export.length], [1, 1]);
    assert.deepEqual(sourceSettingsProblems(ALL_SOURCE_FACTS, settings), []);
    for (const source of ALL_SOURCE_FACTS)
      assert.deepEqual(chooseSource(source, settings), chooseSource(source, DEFAULT_SETTINGS));
  });
});

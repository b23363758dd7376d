import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { settingsText } from '../../../src/cli/install/settings-text';
import { DEFAULT_SETTINGS, parseSettings } from '../../../src/sampler/settings';

describe('settingsText', () => {
  it('explains every key and sets the chosen ones', () => {
    const chosen = { cluster: 'main', deliver_as: 'sge"admin', memory_complexes: ['h_rss', 's_rss'], interval: 2.5 };
    assert.deepEqual(parseSettings(settingsText(chosen), 'x'), { ...DEFAULT_SETTINGS, ...chosen });
    for (const key of Object.keys(DEFAULT_SETTINGS)) assert.match(settingsText({}), new RegExp(`^#${key} = `, 'm'));
  });

  it('is valid with its defaults as they stand behind the #', () => {
    const text = settingsText({}).replace(/^#(?=\w)/gm, '');
    assert.deepEqual(parseSettings(text, 'x'), DEFAULT_SETTINGS);
  });
});

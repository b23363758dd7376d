import { DEFAULT_SETTINGS, SETTING_NAMES, valueToml, type Settings } from '../../record/settings';
import { SETTINGS } from '../../record/settings-table';
import { wrap } from '../../report/screen/layout';

const WIDTH = 118;

/** The help of a key, and what may be written there. */
export function settingHelp(key: keyof Settings): string {
  const { help, allowed } = SETTINGS[key];
  return allowed === '' ? `${help}.` : `${help}. Allowed: ${allowed}.`;
}

/** A `qmemacct.toml` with every key explained: `chosen` ones set, the others as comments with their defaults. */
export function settingsText(chosen: Partial<Settings>): string {
  const parts = SETTING_NAMES.map((key) => {
    const help = wrap(settingHelp(key), WIDTH).map((line) => `# ${line}\n`);
    const value = chosen[key];
    const line = `${value === undefined ? '#' : ''}${key} = ${valueToml(value ?? DEFAULT_SETTINGS[key])}`;
    return `${help.join('')}${key === 'sources' ? '#[sources.meminfo]\n#interval = 10' : line}\n`;
  });
  return ['# qmemacct. A key behind a "#" has the default shown there.\n', ...parts].join('\n');
}

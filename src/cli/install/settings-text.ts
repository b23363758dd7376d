import { DEFAULT_SETTINGS, SETTING_NAMES, valueToml, type Settings } from '../../record/settings';
import { SETTINGS } from '../../record/settings-table';
import { wrap } from '../../report/screen/layout';

const WIDTH = 118;

/** The help text of a key, with its allowed values. */
export function settingHelp(key: keyof Settings): string {
  const { help, allowed } = SETTINGS[key];
  return allowed === '' ? `${help}.` : `${help}. Allowed: ${allowed}.`;
}

/** Examples for the keys that are TOML tables, which come at the end of the file. */
const TABLES: Readonly<Partial<Record<keyof Settings, string>>> = {
  export: '#[[export]]\n#name = "graphite"\n#kind = "graphite"\n#address = "tcp://HOST:2003"\n#what = "node"',
  sources: '#[sources.meminfo]\n#interval = 10',
};

/** A `qmemacct.toml` with every key explained: `chosen` ones set, the others as comments with their defaults. */
export function settingsText(chosen: Partial<Settings>): string {
  const parts = SETTING_NAMES.map((key) => {
    const help = wrap(settingHelp(key), WIDTH).map((line) => `# ${line}\n`);
    const value = chosen[key];
    const line = `${value === undefined ? '#' : ''}${key} = ${valueToml(value ?? DEFAULT_SETTINGS[key])}`;
    return `${help.join('')}${TABLES[key] ?? line}\n`;
  });
  return ['# qmemacct. A key behind a "#" has the default shown there.\n', ...parts].join('\n');
}

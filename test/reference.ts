import { FIELD_CODECS } from '../src/accounting/columns';
import { DERIVED_HELP } from '../src/record/efficiency';
import { settingHelp } from '../src/cli/install/settings-text';
import { FIELD_NAMES, FIELDS, type FieldName } from '../src/record/fields';
import { SETTING_NAMES, valueToml } from '../src/record/settings';
import { SETTINGS } from '../src/record/settings-table';
import { TOTALS, TOTALS_NAMES } from '../src/record/totals';

/** What docs/ says of the record, its sums and the settings, from the tables that the program itself is made from. */

const WIDTH = 100;

/** One item of a list, its further lines indented. */
function item(text: string): string {
  const lines: string[] = [];
  let line = '-';
  for (const word of text.split(' ')) {
    if (line.length + 1 + word.length > WIDTH) {
      lines.push(line);
      line = `  ${word}`;
    } else line = `${line} ${word}`;
  }
  return [...lines, line].join('\n');
}

const MERGED: Readonly<Record<string, string>> = {
  key: 'part of the key',
  own: 'of the account itself',
  rank: "the better data source's",
  final: "the ended job's, else the better data source's",
  each: 'entry by entry',
  status: 'with the notes',
};

function fieldItem(name: FieldName): string {
  const { help, merge, personal } = FIELDS[name];
  const columns = FIELD_CODECS.find((field) => field.name === name)?.codec.columns.map(
    (column) => `\`${column.name}\``,
  );
  const kept = columns === undefined || columns.length === 0 ? 'table `series`' : columns.join(', ');
  const hidden = personal ? ' Hidden from those who may not see whose job it is.' : '';
  return item(`\`${name}\`: ${help}. Merged: ${MERGED[merge] ?? merge}. SQLite: ${kept}.${hidden}`);
}

export function fieldReference(): string {
  return [
    '# Fields',
    '',
    'Made from `src/record/fields.ts` and `src/record/totals.ts` by `npm run generate`.',
    '',
    '## The record',
    '',
    "One job's account on one host, in `--json`, `/v1` and both stores. Sizes are bytes, durations",
    'seconds in JSON and ms in SQLite columns, times ISO 8601 in JSON and ms since the epoch in columns.',
    '',
    ...FIELD_NAMES.map(fieldItem),
    '',
    'JSON and CSV show beside these what follows from them:',
    '',
    ...Object.entries(DERIVED_HELP).map(([name, help]) => item(`\`${name}\`: ${help}.`)),
    '',
    '## Sums',
    '',
    'Over records: a job on three hosts, or started three times, has three.',
    '',
    ...TOTALS_NAMES.map((name) => item(`\`${name}\`: ${TOTALS[name].help}`)),
    '',
  ].join('\n');
}

/** docs/settings.md */
export function settingsReference(): string {
  return [
    '# Settings',
    '',
    'Made from `src/record/settings-table.ts` by `npm run generate`.',
    '',
    '`/etc/qmemacct/qmemacct.toml`, on every host; every key may be left out.',
    '',
    ...SETTING_NAMES.map((key) => {
      const fallback = key === 'sources' ? '' : ` default \`${valueToml(SETTINGS[key].fallback)}\`.`;
      return item(`\`${key}\`:${fallback} ${settingHelp(key)}`);
    }),
    '',
  ].join('\n');
}

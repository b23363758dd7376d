import { realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { isPostgresUrl } from '../../record/postgres-url';
import type { Settings } from '../../record/settings';
import { findingsIn, type Finding } from './finding';

const { ok, warning } = findingsIn('accounting');

const READABLE_BY_ALL = 0o004;
const ENTERED_BY_ALL = 0o001;

type Visibility = Pick<Settings, 'accounting' | 'visibility' | 'serve_names'>;

function isEnteredByAll(directory: string): boolean {
  const parent = dirname(directory);
  return (statSync(directory).mode & ENTERED_BY_ALL) !== 0 && (parent === directory || isEnteredByAll(parent));
}

function isReadableByAll(path: string): boolean {
  try {
    return (statSync(path).mode & READABLE_BY_ALL) !== 0 && isEnteredByAll(dirname(realpathSync(path)));
  } catch {
    // Missing, in a closed directory, or not a file: others can't read it either.
    return false;
  }
}

/** Checks whether users can read the DB itself: only the server applies `visibility` and `serve_names`. */
export function checkVisibility({ accounting, visibility, serve_names: names }: Visibility): Finding[] {
  const [setting] = [
    ...(visibility === 'all' ? [] : [`visibility = "${visibility}"`]),
    ...(names === 'all' ? [] : [`serve_names = "${names}"`]),
  ];
  if (setting === undefined) return [];
  if (isPostgresUrl(accounting))
    return [ok('visibility', `${setting} in "qmemacct serve"; in PostgreSQL itself a role sees what its grants say`)];
  return isReadableByAll(accounting)
    ? [
        warning(
          'visibility',
          `every user can read ${accounting} itself, and all that is in it, in spite of ${setting}`,
          `chmod o-r ${accounting}, and set accounting_mode = "0640": users are answered by "qmemacct serve"`,
        ),
      ]
    : [ok('visibility', `${setting}; the accounting DB is closed to users: "qmemacct serve" answers them`)];
}

import { holdsPassword, isPostgresUrl } from '../record/postgres-url';

export interface DelivererOptions {
  readonly accounting: string;
  /** pgpass file with the password for PostgreSQL; empty: none. */
  readonly credentials: string;
  /** Permission bits of an SQLite accounting DB. */
  readonly mode: number;
  /** How long a dead store is tried, in seconds. */
  readonly patience: number;
  readonly allowRoot: boolean;
}

const DELIVERER_USAGE =
  'usage: deliverer.js --accounting PATH|URL [--credentials FILE] [--mode 0640] [--patience SECONDS] [--allow-root]';

const VALUES = ['--accounting', '--credentials', '--mode', '--patience'] as const;

/** The options of the command line. Throws Error with the usage. */
export function delivererOptions(argv: readonly string[]): DelivererOptions {
  const given = new Map<string, string>();
  for (let index = 0; index < argv.length; index++) {
    const option = argv[index] ?? '';
    const value = VALUES.some((known) => known === option) ? argv[++index] : '';
    if (value === undefined || (value === '' && option !== '--allow-root'))
      throw new Error(`"${option}" is unknown or lacks its value; ${DELIVERER_USAGE}`);
    given.set(option, value);
  }
  const accounting = given.get('--accounting') ?? '';
  const mode = given.get('--mode') ?? '0640';
  const patience = Number(given.get('--patience') ?? 600);
  if (!(accounting.startsWith('/') || isPostgresUrl(accounting)))
    throw new Error(`the accounting DB's absolute path or URL is missing; ${DELIVERER_USAGE}`);
  if (holdsPassword(accounting)) throw new Error('the URL of the accounting DB holds a password; use --credentials');
  if (!/^0?[0-7]{3}$/.test(mode)) throw new Error(`--mode "${mode}" is not an octal permission; ${DELIVERER_USAGE}`);
  if (!(patience >= 0)) throw new Error(`--patience is not a number of seconds; ${DELIVERER_USAGE}`);
  return {
    accounting,
    credentials: given.get('--credentials') ?? '',
    mode: parseInt(mode, 8),
    patience,
    allowRoot: given.has('--allow-root'),
  };
}

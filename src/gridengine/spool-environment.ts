import type { Dialect } from './dialect';

/** Variables by name. A value may hold any character except NUL. */
export type Environment = ReadonlyMap<string, string>;

/**
 * The `environment` file of a job's spool directory: `NAME=VALUE` lines in which execd writes a newline as `\n` and a
 * backslash as `\\`. As for the shepherd, the last of two equal names counts and lines without a name are skipped
 * (daemons/shepherd/builtin_starter.c, `sge_set_environment`). All of it is the user's choice: `qsub -v` and `-V`.
 */
export function parseSpoolEnvironment(text: string): Environment {
  const environment = new Map<string, string>();
  for (const line of text.split('\n')) {
    const equals = line.indexOf('=');
    if (equals <= 0 || line.includes('\0')) continue;
    environment.set(line.slice(0, equals), unescapeValue(line.slice(equals + 1)));
  }
  return environment;
}

function unescapeValue(value: string): string {
  return value.replace(/\\([\\n])/g, (_, escaped: string) => (escaped === 'n' ? '\n' : '\\'));
}

/** Every name that begins with one of these is dropped: the comparison is by prefix (libs/uti2/sge_execvlp.c). */
const unsafePrefixes: readonly string[] = [
  'LD_',
  '_RLD_',
  'GCONV_PATH',
  'GETCONF_DIR',
  'HOSTALIASES',
  'LOCALDOMAIN',
  'LOCPATH',
  'MALLOC_TRACE',
  'NIS_PATH',
  'NLSPATH',
  'RESOLV_HOST_CONF',
  'RES_OPTIONS',
  'TMPDIR',
  'TZDIR',
  'IFS',
  'SHELLOPTS',
  'PS4',
  'PATH_LOCALE',
  'TERMINFO',
  'TERMPATH',
  'TERMCAP',
  'ENV',
  'BASH_ENV',
  'KRB5_CONFIG',
  'KRB5_KTNAME',
  'JAVA_TOOL_OPTIONS',
];

const localePrefixes: readonly string[] = ['LANGUAGE', 'LANG', 'LINGUAS', 'LC_'];

const plainLocale = /^[A-Za-z_]+=[A-Za-z][-A-Za-z0-9_,+@.=]*$/;

/**
 * The environment as the shepherd of 8.1.9 leaves it for a privileged hook. It is no protection: PATH, HOME,
 * NODE_OPTIONS, OPENSSL_CONF, PYTHONPATH, PERL5LIB and exported shell functions stay. The daimh fork also drops names
 * with `%` or `^`; dialects whose shepherd drops nothing get the list of 8.1.9 too.
 */
export function sanitise(environment: Environment, dialect: Dialect = 'sge8.1.9'): Environment {
  return new Map([...environment].filter(([name, value]) => !isUnsafe(name, value, dialect)));
}

function isUnsafe(name: string, value: string, dialect: Dialect): boolean {
  if (unsafePrefixes.some((prefix) => name.startsWith(prefix))) return true;
  if (dialect === 'daimh' && /[%^]/.test(name)) return true;
  return localePrefixes.some((prefix) => name.startsWith(prefix)) && !plainLocale.test(`${name}=${value}`);
}

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

export interface KeyValueLine {
  /** The text before the first `=`; the whole line where there is none. */
  readonly key: string;
  /** The text behind the first `=`, unchanged; null where the line has no `=`. */
  readonly value: string | null;
}

/**
 * The lines of a spool file, each split at its first `=`. Empty lines are kept: in `config` they are a sign of forgery.
 */
export function keyValueLines(text: string): readonly KeyValueLine[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines.map((line) => {
    const equals = line.indexOf('=');
    return equals < 0 ? { key: line, value: null } : { key: line.slice(0, equals), value: line.slice(equals + 1) };
  });
}

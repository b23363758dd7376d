import { failure, success, type Result } from '../base/result';

/** One logical line of `qconf -sconf` or `qconf -sq`. */
interface ConfigurationLine {
  /** As printed, with continuations and the newline. */
  readonly raw: string;
  /** Null for comments and blank lines. */
  readonly setting: { readonly key: string; readonly separator: string; readonly value: string } | null;
}

/** A configuration as printed, down to the last blank. Only what `withValue` touches changes. */
export interface Configuration {
  readonly lines: readonly ConfigurationLine[];
}

/**
 * Reads what `qconf -sconf [host]` or `qconf -sq QUEUE` prints, also a file for `-Mconf`, `-Mq`: lines of `key value`,
 * which a backslash at the end continues in the next line. qconf(1) breaks lines above 80 characters at commas and
 * blanks; run it with SGE_SINGLE_LINE=1, because behind a comma a blank can't be recovered.
 */
export function readConfiguration(text: string): Configuration {
  const logical = text.match(/(?:[^\n]*\\\r?\n)*[^\n]*(?:\n|$)/g) ?? [];
  return { lines: logical.filter((raw) => raw !== '').map((raw) => ({ raw, setting: readSetting(raw) })) };
}

function readSetting(raw: string): ConfigurationLine['setting'] {
  const [first = '', ...rest] = raw.replace(/\r?\n$/, '').split(/\\\r?\n/);
  const joined = rest.reduce((text, part) => {
    const start = text.trimEnd();
    return start.endsWith(',') ? start + part.trimStart() : `${start} ${part.trimStart()}`;
  }, first);
  const match = /^[ \t]*([^\s#]\S*)(?:([ \t]+)(.*))?$/.exec(joined);
  if (match?.[1] === undefined) return null;
  return { key: match[1], separator: match[2] ?? ' ', value: (match[3] ?? '').trimEnd() };
}

/** The value of a key, continuation lines joined; null if the key is absent. */
export function configurationValue(configuration: Configuration, key: string): string | null {
  return configuration.lines.find((line) => line.setting?.key === key)?.setting?.value ?? null;
}

/**
 * The same configuration with one value replaced, added at the end, or (null) its line removed. In the global
 * configuration and in queues a key cannot be left out: set `NONE` there. Fails if the value or key cannot stand in
 * such a file.
 */
export function withValue(configuration: Configuration, key: string, value: string | null): Result<Configuration> {
  if (!/^[A-Za-z_]\w*$/.test(key)) return failure(`${JSON.stringify(key)} is not the name of a setting`);
  if (value !== null && (value.trim() !== value || value === '' || /[\n\r\0]|\\$/.test(value))) {
    return failure(`the value of ${key} must be one line without blanks at its ends or a backslash at its end`);
  }
  const index = configuration.lines.findIndex((line) => line.setting?.key === key);
  if (value === null) return success({ lines: configuration.lines.filter((_, position) => position !== index) });
  const old = configuration.lines[index]?.setting;
  if (old?.value === value) return success(configuration);
  const separator = old?.separator ?? paddingFor(configuration, key);
  const line = { raw: `${key}${separator}${value}\n`, setting: { key, separator, value } };
  if (index >= 0) return success({ lines: configuration.lines.with(index, line) });
  const last = configuration.lines.at(-1);
  const closed =
    last === undefined || last.raw.endsWith('\n')
      ? configuration.lines
      : configuration.lines.with(-1, { ...last, raw: `${last.raw}\n` });
  return success({ lines: [...closed, line] });
}

/** The configuration as text: exactly what was read, but for changed settings. */
export function serialise(configuration: Configuration): string {
  return configuration.lines.map((line) => line.raw).join('');
}

/** Grid Engine's word for "nothing", in any case. An empty value counts as well. */
export function isNone(value: string): boolean {
  return value === '' || value.toLowerCase() === 'none';
}

function paddingFor(configuration: Configuration, key: string): string {
  const setting = configuration.lines.find((line) => line.setting !== null)?.setting;
  const column = setting == null ? 0 : setting.key.length + setting.separator.length;
  return ' '.repeat(Math.max(1, column - key.length));
}

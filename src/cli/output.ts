import { escapeForTerminal, escapeJson } from '../report/format/escape';
import { createScreen, type Screen } from '../report/screen/screen';
import { type GlobalOptions, usageError } from './command';
import type { Terminal } from './terminal';

export type OutputFormat = 'text' | 'json' | 'csv';

/** The format that the options ask for. Throws a usage error if they ask for two. */
export function outputFormat(options: Pick<GlobalOptions, 'json' | 'csv'>): OutputFormat {
  if (options.json && options.csv) throw usageError('--json and --csv exclude each other: give one of them');
  if (options.json) return 'json';
  return options.csv ? 'csv' : 'text';
}

/** Like `outputFormat`, for a command that has no CSV. */
export function textOrJson(options: Pick<GlobalOptions, 'json' | 'csv'>, command: string): 'text' | 'json' {
  const format = outputFormat(options);
  if (format === 'csv') throw usageError(`${command} has no CSV: give --json`);
  return format;
}

/** The width used if there is no terminal: for a file, a pipe, a mail. */
const UNKNOWN_WIDTH = 100;

function speaksUtf8(env: Terminal['env']): boolean {
  const locale = [env.LC_ALL, env.LC_CTYPE, env.LANG].find((value) => value !== undefined && value !== '');
  return /utf-?8/i.test(locale ?? '');
}

/**
 * The screen of a terminal: its width (or `columns`), colour only on a terminal or if FORCE_COLOR is set (less -R),
 * ASCII unless the locale is UTF-8. `widest`: the most columns that a table may use, where that is more than for text.
 */
export function screenOf(
  terminal: Terminal,
  options: Pick<GlobalOptions, 'color'>,
  more: { readonly heartbeat?: number; readonly columns?: number; readonly widest?: number } = {},
): Screen {
  const { env } = terminal;
  const columns = more.columns ?? terminal.columns ?? Number(env.COLUMNS);
  const wanted = options.color && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb';
  const forced = !['', '0', 'false'].includes(env.FORCE_COLOR ?? '');
  return createScreen({
    width: Number.isInteger(columns) && columns > 0 ? columns : UNKNOWN_WIDTH,
    now: terminal.now(),
    colour: wanted && (terminal.isTTY || forced),
    unicode: speaksUtf8(env),
    ...(more.widest === undefined ? {} : { widest: more.widest }),
    ...(more.heartbeat === undefined ? {} : { heartbeatSeconds: more.heartbeat }),
  });
}

/** Writes lines; main.ts handles write errors, such as a closed pipe. */
export function writeLines(terminal: Terminal, lines: readonly string[]): void {
  terminal.write(lines.map((line) => `${line}\n`).join(''));
}

/** Writes the answer of a command that has no CSV: as JSON (schema 1) on one line, or as lines for people. */
export function writeAnswer(terminal: Terminal, format: OutputFormat, answer: object, lines: readonly string[]): void {
  writeLines(terminal, format === 'json' ? [escapeJson(JSON.stringify({ schema: 1, ...answer }))] : lines);
}

/** Text is written in pieces of at least this many characters. */
const PIECE = 65_536;

/** Writes text that is generated piece by piece, so that it is never in memory as a whole. */
export function writePieces(terminal: Pick<Terminal, 'write'>, pieces: Iterable<string>): void {
  let text = '';
  for (const piece of pieces) {
    text += piece;
    if (text.length < PIECE) continue;
    terminal.write(text);
    text = '';
  }
  if (text !== '') terminal.write(text);
}

/** Writes a message to standard error, line by line, with anything harmful in it escaped. */
export function warn(terminal: Terminal, message: string): void {
  for (const line of message.split('\n')) terminal.warn(`qmemacct: ${escapeForTerminal(line)}`);
}

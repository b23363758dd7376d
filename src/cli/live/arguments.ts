import type { Command } from 'commander';
import type { Given, LiveOption, LiveOptions } from '../../report/live/live-options';
import type { GlobalOptions } from '../command';
import { usageError } from '../command';
import { outputFormat } from '../output';
import type { Terminal } from '../terminal';

/** Adds a table's options to a command. */
export function addOptions(command: Command, options: LiveOptions): Command {
  return Object.values(options).reduce((known, { flags, help }) => known.option(flags, help), command);
}

/** Parses the given values of a table's options. Throws a usage error for an invalid value. */
export function readOptions<O extends LiveOptions>(options: O, given: Readonly<Record<string, unknown>>): Given<O> {
  const read = (name: string, { read: readText, wrong, write }: LiveOption<unknown>): unknown => {
    const value = given[name];
    // A flag: true or undefined.
    if (typeof value !== 'string') return value;
    const meant = readText(value);
    if (meant === null) throw usageError(`--${name}: "${value}" ${wrong}; write ${write}`);
    return meant;
  };
  return Object.fromEntries(Object.entries(options).map(([name, option]) => [name, read(name, option)])) as Given<O>;
}

/** Refreshing more often shows nothing new, but costs. */
const SHORTEST_SECONDS = 1;
const LONGEST_SECONDS = 3600;

/**
 * ms between two refreshes by --watch; null: --watch was not given. Throws a usage error if there is no terminal to
 * draw on, or the output is for programs.
 */
export function watchInterval(
  options: Pick<LiveCommandOptions, 'json' | 'csv' | 'watch'>,
  terminal: Terminal,
  usualSeconds: number,
): number | null {
  const { watch } = options;
  if (watch === undefined) return null;
  if (outputFormat(options) !== 'text') throw usageError('--watch is for people: leave --json and --csv out');
  if (!terminal.isTTY)
    throw usageError('--watch needs a terminal to draw on; without it the answer is printed once (also as --json)');
  if (terminal.env.TERM === 'dumb')
    throw usageError('--watch needs a terminal that can move its cursor; TERM is "dumb"');
  const seconds = watch === true ? usualSeconds : /^\d{1,4}(\.\d{1,3})?$/.test(watch) ? Number(watch) : NaN;
  if (!(seconds >= SHORTEST_SECONDS && seconds <= LONGEST_SECONDS))
    throw usageError(`--watch: "${String(watch)}" is not a number of seconds from 1 to 3600`);
  return seconds * 1000;
}

/** The options of `live` and, apart from `atRisk` and `full`, of `hosts`. */
export interface LiveCommandOptions extends GlobalOptions {
  readonly watch?: string | true;
  readonly atRisk?: boolean;
  readonly xml?: boolean;
  readonly full?: boolean;
}

/** Whether Grid Engine's own XML is asked for. Throws a usage error if another form is asked for, too. */
export function wantsXml({ xml = false, json, csv, watch, atRisk, full }: LiveCommandOptions): boolean {
  if (!xml && full) throw usageError('--full is a form of --xml: give --xml, too');
  if (xml && (json || csv || watch !== undefined || atRisk))
    throw usageError('--xml answers once and alone: leave --json, --csv, --watch and --at-risk out');
  return xml;
}

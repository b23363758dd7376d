import type { Argument, Command, Option } from 'commander';
import { SETTINGS_FILE } from '../../record/settings';
import { wrap } from '../../report/screen/layout';
import { EXIT } from '../command';

/** mandoc warns of lines longer than 80 bytes. */
const WIDTH = 78;

/** Escapes text for roff: backslashes, and minus signs that would become hyphens. */
const escaped = (text: string): string => text.replaceAll('\\', '\\e').replaceAll('-', '\\-');

const paragraph = (text: string): string[] => wrap(escaped(text), WIDTH).map((line) => line.replace(/^[.']/, '\\&$&'));

const bold = (text: string): string => `\\fB${escaped(text)}\\fR`;

const item = (head: string, text: string): string[] => ['.TP', head, ...paragraph(text)];

const optionItem = ({ flags, description }: Option): string[] => item(bold(flags), description);

const written = (argument: Argument): string => {
  const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
  return argument.required ? `<${name}>` : `[${name}]`;
};

function describe(command: Command, path: string): string[] {
  const usage = [path, ...command.registeredArguments.map(written)].join(' ');
  return [
    `.SS ${escaped(usage)}`,
    ...paragraph(command.description()),
    ...command.registeredArguments
      .filter(({ description }) => description !== '')
      .flatMap((argument) => item(bold(written(argument)), argument.description)),
    ...command.options.filter(({ hidden }) => !hidden).flatMap(optionItem),
    ...command.commands.flatMap((one) => describe(one, `${path} ${one.name()}`)),
  ];
}

const STATUSES: Readonly<Record<keyof typeof EXIT, string>> = {
  found: 'Found, or done.',
  nothing: 'Nothing found.',
  usage: 'Wrong usage.',
  unavailable: 'A store, a host or a command is unavailable.',
  notYet: 'How the job ended is not known, or not yet (job --retry).',
};

/** The manual page qmemacct(1). `program`: with all commands loaded. */
export function manPage(program: Command, version: string, now: Date): string {
  const lines = [
    `.TH QMEMACCT 1 ${now.toISOString().slice(0, 10)} "qmemacct ${escaped(version)}"`,
    '.SH NAME',
    'qmemacct \\- memory and efficiency accounting for Grid Engine clusters',
    '.SH SYNOPSIS',
    `${bold('qmemacct')} [\\fIoptions\\fR] \\fIcommand\\fR [\\fIarguments\\fR]`,
    '.SH DESCRIPTION',
    ...paragraph(program.description()),
    '.SH OPTIONS',
    ...program.options.flatMap(optionItem),
    '.SH COMMANDS',
    ...program.commands.flatMap((command) => describe(command, command.name())),
    '.SH EXIT STATUS',
    ...Object.entries(EXIT).flatMap(([name, status]) => item(String(status), STATUSES[name as keyof typeof EXIT])),
    '.SH ENVIRONMENT',
    ...item(bold('NO_COLOR'), 'No colours.'),
    ...item(bold('FORCE_COLOR'), 'Colours although the output is not a terminal, as for less -R; 0: none.'),
    '.SH FILES',
    ...item(escaped(SETTINGS_FILE), 'The configuration.'),
    '.SH SEE ALSO',
    '.BR qstat (1),',
    '.BR qacct (1),',
    '.BR qsub (1)',
  ];
  return `${lines.join('\n')}\n`;
}

import { execFile, type ExecFileException } from 'node:child_process';
import { hostLabel } from '../../gridengine/host-names';
import { MIB } from '../../base/units';
import { checkJson, type Shape } from '../../base/shape';
import { usageError } from '../command';
import { commandPath } from '../install/places';

const PATIENCE_MS = 90_000;

/** Whether a host of Grid Engine's is this one, whose name there is `own`. */
export function isThisHost(host: string, own: string): boolean {
  // Full names are compared as a whole: equal short names may be in different domains.
  return host.includes('.') && own.includes('.')
    ? host.toLowerCase() === own.toLowerCase()
    : hostLabel(host) === hostLabel(own);
}

/** How a host is asked. */
export interface HostQuestion {
  /** Words of --node-check, which run a command on {host}; empty: run it here. */
  readonly template: readonly string[];
  readonly prefix: string;
  readonly settingsPath: string;
  /** Further options of `doctor`. */
  readonly options: readonly string[];
  /** How long a host is waited for; left out: 90 s. */
  readonly patienceMs?: number;
}

/** The words of --node-check. Throws a usage error if {host} is not among them. */
export function templateWords(template: string): readonly string[] {
  if (!template.includes('{host}'))
    throw usageError(`--node-check "${template}": write {host} where the host's name goes, as in 'ssh {host}'`);
  return template.split(/\s+/).filter((word) => word !== '');
}

const firstLine = (text: string): string => text.trim().split('\n')[0] ?? '';

/** Why there is no answer: the command's last line on standard error, or how it ended. */
function whyNoAnswer(error: ExecFileException | null, stdout: string, stderr: string): string {
  const said = stderr.trim().split('\n').pop() ?? '';
  if (said !== '') return said;
  // For example the greeting of a login shell.
  if (stdout.trim() !== '') return `not an answer of "qmemacct doctor"; it begins with: ${firstLine(stdout)}`;
  return typeof error?.code === 'string' ? firstLine(error.message) : 'no answer of "qmemacct doctor"';
}

/** The answer of a host's own `doctor --json`, or why there is none. No shell on this side reads the template. */
export function askDoctor<T>(
  host: string,
  shape: Shape<T>,
  { template, prefix, settingsPath, options, patienceMs = PATIENCE_MS }: HostQuestion,
): Promise<{ readonly answer: T } | { readonly reason: string }> {
  const words = template.map((word) => word.replaceAll('{host}', host));
  const doctor = ['doctor', '--json', '--prefix', prefix, '--config', settingsPath, ...options];
  const [command = '', ...rest] = [...words, commandPath(prefix), ...doctor];
  return new Promise((resolve) => {
    const limits = { timeout: patienceMs, maxBuffer: 16 * MIB };
    execFile(command, rest, limits, (error, stdout, stderr) => {
      const answer = checkJson(shape, stdout, 'the answer');
      if (answer.ok) resolve({ answer: answer.value });
      else if (error?.killed === true && typeof error.code !== 'string')
        resolve({ reason: `no answer within ${patienceMs / 1000} s` });
      else resolve({ reason: whyNoAnswer(error, stdout, stderr) });
    });
  });
}

/** Asks up to `atOnce` hosts at once, the next as soon as one has answered; the answers are in the order of `hosts`. */
export async function askEach<T>(
  hosts: readonly string[],
  atOnce: number,
  ask: (host: string) => Promise<T>,
): Promise<readonly T[]> {
  const answers: T[] = [];
  const left = hosts.entries();
  async function work(): Promise<void> {
    for (const [index, host] of left) answers[index] = await ask(host);
  }
  await Promise.all(Array.from({ length: atOnce }, work));
  return answers;
}

/** Whether a host name is safe to put into the admin's own command, which a shell may read. */
export const isPlainName = (host: string): boolean => /^[A-Za-z0-9][\w.-]*$/.test(host);

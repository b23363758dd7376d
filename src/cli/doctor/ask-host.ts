import { execFile, type ExecFileException } from 'node:child_process';
import { hostname } from 'node:os';
import { hostLabel } from '../../gridengine/host-names';
import { MIB } from '../../base/units';
import { checkJson, type Shape } from '../../base/shape';
import { usageError } from '../command';
import { commandPath } from '../install/places';

const PATIENCE_MS = 90_000;

export function isThisHost(host: string): boolean {
  const own = hostname();
  // Where both are full names, the short ones could be of two domains.
  return host.includes('.') && own.includes('.')
    ? host.toLowerCase() === own.toLowerCase()
    : hostLabel(host) === hostLabel(own);
}

/** How a host is asked. */
export interface HostQuestion {
  /** Words of --node-check, which run a command on {host}; none: on this host. */
  readonly template: readonly string[];
  readonly prefix: string;
  readonly settingsPath: string;
  /** Further options of `doctor`. */
  readonly options: readonly string[];
  /** How long a host is waited for; left out: 90 s. */
  readonly patienceMs?: number;
}

/** The words of --node-check. Throws a usage error where they name no host. */
export function templateWords(template: string): readonly string[] {
  if (!template.includes('{host}'))
    throw usageError(`--node-check "${template}": write {host} where the host's name goes, as in 'ssh {host}'`);
  return template.split(/\s+/).filter((word) => word !== '');
}

const firstLine = (text: string): string => text.trim().split('\n')[0] ?? '';

/** Why there is no answer: what the way to the host says of it, or how it ended. */
function silence(error: ExecFileException | null, stdout: string, stderr: string): string {
  const said = stderr.trim().split('\n').pop() ?? '';
  if (said !== '') return said;
  // As where a login shell greets.
  if (stdout.trim() !== '') return `what came is no answer of "qmemacct doctor", and begins with: ${firstLine(stdout)}`;
  return typeof error?.code === 'string' ? firstLine(error.message) : 'no answer of "qmemacct doctor"';
}

/** What a host's own `doctor --json` answers, or why it does not. The template's words are arguments, no shell reads them here. */
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
      else resolve({ reason: silence(error, stdout, stderr) });
    });
  });
}

/** Asks so many hosts at once, the next when one has answered: those that are silent hold nobody up. In their order. */
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

/** Names go into commands of the admin's own. */
export const isPlainName = (host: string): boolean => /^[A-Za-z0-9][\w.-]*$/.test(host);

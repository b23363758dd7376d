import { boolean, checkJson, list, nullable, object, string } from '../../base/shape';
import { execFile } from 'node:child_process';
import { hostname } from 'node:os';
import { commandPath } from './places';
import { readStamp } from './stamp';
import { currentVersion } from './versions';

/** Whether a host may get the hooks; `reason` null: yes. */
export interface HostVerdict {
  readonly host: string;
  readonly reason: string | null;
}

const AT_ONCE = 16;
const TIMEOUT_MS = 90_000;

function isThisHost(host: string): boolean {
  const short = (name: string): string => name.toLowerCase().split('.')[0] ?? '';
  const own = hostname();
  // Where both are full names, the short ones could be of two domains.
  return host.includes('.') && own.includes('.')
    ? host.toLowerCase() === own.toLowerCase()
    : short(host) === short(own);
}

function checkHere(host: string, stateDir: string, prefix: string): HostVerdict {
  const stamp = readStamp(stateDir);
  const current = currentVersion(prefix);
  if (stamp?.prefix !== prefix || current === null)
    return { host, reason: `nothing is installed under ${prefix}; run "qmemacct install --node" there` };
  if (!stamp.ok) return { host, reason: `self-test: ${stamp.problems.join('; ')}` };
  if (stamp.version !== current)
    return { host, reason: `${current} was not tested; run "qmemacct doctor --self-test" there` };
  return { host, reason: null };
}

const doctorAnswer = object({
  self_test: nullable(object({ ok: boolean, problems: list(string, Infinity) })),
});

/** Asks a host's own `doctor`. The template's words are arguments, no shell reads them here. */
function askHost(host: string, template: readonly string[], check: HostCheck): Promise<HostVerdict> {
  const { prefix, settingsPath, env } = check;
  const [command = '', ...args] = template.map((word) => word.replaceAll('{host}', host));
  const doctor = ['doctor', '--self-test', '--json', '--prefix', prefix, '--config', settingsPath];
  if (env !== null) doctor.push('--env', env);
  const words = [...args, commandPath(prefix), ...doctor];
  return new Promise((resolve) => {
    execFile(command, words, { timeout: TIMEOUT_MS }, (error, stdout, stderr) => {
      const answer = checkJson(doctorAnswer, stdout, 'the answer');
      const test = answer.ok ? answer.value.self_test : null;
      if (test !== null) resolve({ host, reason: test.ok ? null : `self-test: ${test.problems.join('; ')}` });
      else {
        const said = stderr.trim().split('\n').pop() ?? '';
        resolve({ host, reason: said || (error?.message.split('\n')[0] ?? 'no answer of "qmemacct doctor"') });
      }
    });
  });
}

interface HostCheck {
  readonly prefix: string;
  readonly stateDir: string;
  readonly settingsPath: string;
  /** The `env` of the line to be, which must be there on every host; null: the usual one. */
  readonly env: string | null;
  /** Words of --node-check; null: other hosts can't be asked. */
  readonly template: readonly string[] | null;
}

/** Whether the self-test was good, host by host. */
export async function checkHosts(hosts: readonly string[], check: HostCheck): Promise<readonly HostVerdict[]> {
  const verdicts: HostVerdict[] = [];
  const { template, prefix, stateDir } = check;
  const verdict = async (host: string): Promise<HostVerdict> => {
    if (isThisHost(host)) return checkHere(host, stateDir, prefix);
    if (!/^[A-Za-z0-9][\w.-]*$/.test(host)) return { host, reason: 'not a plain host name' };
    if (template === null) return { host, reason: 'not checked yet' };
    return askHost(host, template, check);
  };
  for (let first = 0; first < hosts.length; first += AT_ONCE)
    verdicts.push(...(await Promise.all(hosts.slice(first, first + AT_ONCE).map(verdict))));
  return verdicts;
}

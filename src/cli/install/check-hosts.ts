import { boolean, list, object, string } from '../../base/shape';
import { ownHost } from '../../sampler/delivery/node-status';
import { askDoctor, askEach, isPlainName, isThisHost } from '../doctor/ask-host';
import { readStamp } from './stamp';
import { currentVersion } from './versions';

/** Whether a host may get the hooks; `reason`: why not, null: it may. */
export interface HostVerdict {
  readonly host: string;
  readonly reason: string | null;
}

const AT_ONCE = 16;

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
  self_test: object({ ok: boolean, problems: list(string) }),
});

async function askHost(host: string, template: readonly string[], check: HostCheck): Promise<HostVerdict> {
  const { prefix, settingsPath, env } = check;
  const options = ['--self-test', ...(env === null ? [] : ['--env', env])];
  const said = await askDoctor(host, doctorAnswer, { template, prefix, settingsPath, options });
  if ('reason' in said) return { host, reason: said.reason };
  const { ok, problems } = said.answer.self_test;
  return { host, reason: ok ? null : `self-test: ${problems.join('; ')}` };
}

interface HostCheck {
  readonly prefix: string;
  readonly stateDir: string;
  readonly settingsPath: string;
  /** The `env` of the hook lines to be set, which must exist on every host; null: the usual one. */
  readonly env: string | null;
  /** Words of --node-check; null: other hosts can't be asked. */
  readonly template: readonly string[] | null;
}

/** Whether each host has passed the self-test. */
export async function checkHosts(hosts: readonly string[], check: HostCheck): Promise<readonly HostVerdict[]> {
  const { template, prefix, stateDir } = check;
  const own = ownHost({ state_dir: stateDir });
  return askEach(hosts, AT_ONCE, async (host): Promise<HostVerdict> => {
    if (isThisHost(host, own)) return checkHere(host, stateDir, prefix);
    if (!isPlainName(host)) return { host, reason: 'not a plain host name' };
    if (template === null) return { host, reason: 'not checked yet' };
    return askHost(host, template, check);
  });
}

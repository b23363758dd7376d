import { boolean, list, nullable, object, oneOf, string, type ValueOf } from '../../base/shape';
import { plural } from '../../report/format/units';
import { askDoctor, askEach, isPlainName, isThisHost, type HostQuestion } from './ask-host';
import { findingsIn, firstOf, SEVERITIES, type Finding } from './finding';

const AT_ONCE = 64;
const MOST_NAMED = 8;

const answerShape = object({
  checks: list(
    object({ area: string, name: string, severity: oneOf(SEVERITIES), says: string, fix: nullable(string) }),
    Infinity,
  ),
  ok: boolean,
});

/** What a host's own doctor found, or why it did not answer. */
export interface HostAnswer {
  readonly host: string;
  /** Why the host did not answer; null: it did. */
  readonly silent: string | null;
  readonly checks: ValueOf<typeof answerShape>['checks'];
}

/** Runs `doctor` on every host, on this one (`own`) directly rather than by --node-check. */
export function askAll(hosts: readonly string[], question: HostQuestion, own: string): Promise<readonly HostAnswer[]> {
  return askEach(hosts, AT_ONCE, async (host): Promise<HostAnswer> => {
    if (!isPlainName(host)) return { host, silent: 'not a plain host name', checks: [] };
    const said = await askDoctor(host, answerShape, isThisHost(host, own) ? { ...question, template: [] } : question);
    return 'reason' in said
      ? { host, silent: said.reason, checks: [] }
      : { host, silent: null, checks: said.answer.checks };
  });
}

const isBad = ({ severity }: Finding): boolean => severity === 'problem' || severity === 'warning';

interface Fault {
  /** As the first of the hosts has it. */
  readonly finding: Finding;
  readonly hosts: string[];
  sameWords: boolean;
}

/**
 * What is wrong, each fault once with the hosts that have it, the most common first. Hosts that did not answer come
 * before all faults; the number of healthy hosts comes last.
 */
export function faultsOfAll(answers: readonly HostAnswer[]): readonly Finding[] {
  const { ok, problem } = findingsIn('hosts');
  const faults = new Map<string, Fault>();
  for (const { host, silent, checks } of answers) {
    const found = silent === null ? checks.filter(isBad) : [problem('no answer', silent, 'see --node-check')];
    for (const finding of found) {
      const key = JSON.stringify([finding.area, finding.name, finding.severity, finding.fix]);
      const fault = faults.get(key);
      if (fault === undefined) faults.set(key, { finding, hosts: [host], sameWords: true });
      else {
        // One host may have the same fault twice, as for two devices.
        if (fault.hosts.at(-1) !== host) fault.hosts.push(host);
        fault.sameWords &&= fault.finding.says === finding.says;
      }
    }
  }
  const well = answers.filter(({ silent, checks }) => silent === null && !checks.some(isBad)).length;
  const sorted = [...faults.values()].sort((a, b) => b.hosts.length - a.hosts.length);
  const merged = sorted.map(({ finding, hosts, sameWords }): Finding => {
    const which = `${hosts.length} of ${plural(answers.length, 'host')} (${firstOf(hosts, MOST_NAMED)})`;
    const example = sameWords ? '' : `as on ${hosts[0] ?? ''}: `;
    return { ...finding, says: `${which}: ${example}${finding.says}` };
  });
  const isSilent = ({ area }: Finding): boolean => area === 'hosts';
  return [
    ...merged.filter(isSilent),
    ...merged.filter((finding) => !isSilent(finding)),
    ok('well', `${well} of ${answers.length} hosts have neither problem nor warning`),
  ];
}

/** For JSON: what is wrong, host by host. */
export const faultsByHost = (answers: readonly HostAnswer[]): readonly HostAnswer[] =>
  answers.map(({ host, silent, checks }) => ({ host, silent, checks: checks.filter(isBad) }));

import { configurationValue, isNone, type Configuration } from '../../gridengine/configuration';
import { composeHookCommand, type HookLine, type HookStage } from '../../gridengine/our-hook';
import { parseQueueValue, queueValuesFor } from '../../gridengine/queue-value';
import { fail, list, nullable, object, oneOf, optional, refined, string, type ValueOf } from '../../base/shape';
import type { ClusterQueue, Site } from '../../gridengine/site';
import type { Screen } from '../../report/screen/screen';
import { changeQueueValue, sameQueueValue } from './queue-plan';

export const STAGES: readonly HookStage[] = ['prolog', 'epilog'];

/** Where Grid Engine keeps a prolog and an epilog. */
export type Target =
  | { readonly kind: 'global' }
  | { readonly kind: 'host'; readonly name: string }
  | { readonly kind: 'queue'; readonly name: string };

const target = refined(
  object({ kind: oneOf(['global', 'host', 'queue']), name: optional(nullable(string)) }),
  ({ kind, name }): Target => {
    if (kind === 'global') return { kind };
    return typeof name === 'string' ? { kind, name } : fail('has no name');
  },
);
const change = object({
  target,
  stage: oneOf(STAGES),
  /** null: the key is not set. */
  old: nullable(string),
  /** null: the key is removed. */
  new: nullable(string),
});
export type Change = ValueOf<typeof change>;

/** The form in which a backup keeps changes (backups.ts). */
export const changeList = list(change);

export interface HookPlan {
  readonly changes: readonly Change[];
  /** Hosts whose jobs the changes affect. */
  readonly hosts: readonly string[];
  /** What can't be done, with its fix; if there is any problem, nothing may be changed. */
  readonly problems: readonly string[];
}

export interface HookScope {
  /** null: all hosts. */
  readonly hosts: readonly string[] | null;
  /** null: no choice of queues; the values in the global or host-local configuration are set. */
  readonly queues: readonly string[] | null;
}

export type OurHooks = Omit<HookLine, 'stage' | 'original'>;

export function targetName(target: Target): string {
  switch (target.kind) {
    case 'global':
      return 'global configuration';
    case 'host':
      return `configuration of host ${target.name}`;
    case 'queue':
      return `queue ${target.name}`;
  }
}

/** Every configuration that may have hooks. */
export function* configurationsOf(site: Site): Generator<readonly [Target, Configuration]> {
  yield [{ kind: 'global' }, site.global];
  for (const [name, configuration] of site.locals) yield [{ kind: 'host', name }, configuration];
  for (const [name, { configuration }] of site.queues) yield [{ kind: 'queue', name }, configuration];
}

/** Whether two values of a target mean the same to Grid Engine. */
export function sameValue(target: Target, a: string | null, b: string | null): boolean {
  return a === b || (target.kind === 'queue' && a !== null && b !== null && sameQueueValue(a, b));
}

/** Groups changes by target, because each target is written once. */
export function byTarget(changes: readonly Change[]): readonly (readonly [Target, readonly Change[]])[] {
  const targets = new Map<string, [Target, Change[]]>();
  for (const change of changes) {
    const key = targetName(change.target);
    const found = targets.get(key);
    if (found === undefined) targets.set(key, [change.target, [change]]);
    else found[1].push(change);
  }
  return [...targets.values()];
}

/** The value of prolog or epilog in the configuration in force on a host; null: the global configuration. */
function confValue(site: Site, host: string | null, stage: HookStage): string {
  const own = host === null ? undefined : site.locals.get(host);
  const local = own === undefined ? null : configurationValue(own, stage);
  return local ?? configurationValue(site.global, stage) ?? 'NONE';
}

/** The value for a queue's jobs on a host: the queue's own, or if that is NONE, the configuration's. */
export function hookInForce(site: Site, queue: ClusterQueue): (host: string, stage: HookStage) => string {
  const values = new Map(
    STAGES.map((stage) => [stage, parseQueueValue(configurationValue(queue.configuration, stage) ?? 'NONE')]),
  );
  return (host, stage) => {
    const value = values.get(stage);
    const groups = [...site.groups].flatMap(([group, members]) => (members.includes(host) ? group : []));
    const [own = 'NONE'] = value?.ok === true ? queueValuesFor(value.value, host, groups) : [];
    return isNone(own) ? confValue(site, host, stage) : own;
  };
}

class Planner {
  readonly changes: Change[] = [];
  readonly problems: string[] = [];

  constructor(
    readonly site: Site,
    private readonly ours: OurHooks,
  ) {}

  /** Our line with the present hook chained behind it; the present value if it is ours already, or on a problem. */
  wrapped(where: string, stage: HookStage, value: string): string {
    const line = composeHookCommand({ ...this.ours, stage, original: value });
    if (line.ok) return line.value;
    this.problem(`${where}: ${stage} "${value}": ${line.error}${this.ours.privileged ? '' : '; leave --plain away'}`);
    return value;
  }

  problem(text: string): void {
    if (!this.problems.includes(text)) this.problems.push(text);
  }

  change(target: Target, stage: HookStage, old: string | null, value: string | null): void {
    if (old !== value) this.changes.push({ target, stage, old, new: value });
  }

  /**
   * Plans a queue's values; NONE, which means the configuration's value, stays unless `replacesNone`. `hosts` null: all
   * hosts.
   */
  queue(
    name: string,
    queue: ClusterQueue,
    stage: HookStage,
    hosts: readonly string[] | null,
    replacesNone: boolean,
  ): void {
    const target: Target = { kind: 'queue', name };
    const old = configurationValue(queue.configuration, stage);
    const parsed = parseQueueValue(old ?? 'NONE');
    if (!parsed.ok) {
      this.problem(`${targetName(target)}: ${stage}: ${parsed.error}; fix it with qconf -mq ${name}`);
      return;
    }
    const result = changeQueueValue(parsed.value, queue.hosts, this.site.groups, hosts, (host, value) => {
      if (!isNone(value)) return this.wrapped(targetName(target), stage, value);
      if (!replacesNone) return value;
      const inForce = confValue(this.site, host, stage);
      const line = this.wrapped(targetName(target), stage, inForce);
      // The configuration has our hook already, so the queue's NONE can stay.
      return line === inForce ? value : line;
    });
    if (result.ok) this.change(target, stage, old, result.value);
    else this.problem(`${targetName(target)}: ${stage}: ${result.error}; fix it with qconf -mq ${name}`);
  }
}

function planEverywhere(planner: Planner, stage: HookStage): void {
  const { site } = planner;
  const global = configurationValue(site.global, stage);
  const target: Target = { kind: 'global' };
  planner.change(target, stage, global, planner.wrapped(targetName(target), stage, global ?? 'NONE'));
  for (const [name, configuration] of site.locals) {
    const own = configurationValue(configuration, stage);
    const host: Target = { kind: 'host', name };
    if (own !== null) planner.change(host, stage, own, planner.wrapped(targetName(host), stage, own));
  }
  for (const [name, queue] of site.queues) planner.queue(name, queue, stage, null, false);
}

function planHosts(planner: Planner, stage: HookStage, hosts: readonly string[]): void {
  const { site } = planner;
  for (const name of hosts) {
    const own = site.locals.get(name);
    const old = own === undefined ? null : configurationValue(own, stage);
    const target: Target = { kind: 'host', name };
    const inForce = confValue(site, name, stage);
    const line = planner.wrapped(targetName(target), stage, inForce);
    if (line !== inForce) planner.change(target, stage, old, line);
  }
  for (const [name, queue] of site.queues) planner.queue(name, queue, stage, hosts, false);
}

/** Resolves names of hosts and `@groups` to execution hosts; `problems`: unknown names. */
function resolveHosts(site: Site, names: readonly string[]): { hosts: readonly string[]; problems: string[] } {
  const problems: string[] = [];
  const hosts = names.flatMap((name) => {
    const members = name.startsWith('@') ? site.groups.get(name) : [name];
    if (members === undefined) problems.push(`${name}: no such host group; "qconf -shgrpl" lists them`);
    return members ?? [];
  });
  const known = new Map(site.execHosts.map((host) => [host.toLowerCase(), host]));
  const execHosts = hosts.flatMap((host) => {
    const found = known.get(host.toLowerCase());
    if (found === undefined) problems.push(`${host}: no execution host; "qconf -sel" lists them`);
    return found ?? [];
  });
  return { hosts: [...new Set(execHosts)], problems };
}

/** The changes that set our hooks in the scope, the present ones chained behind. Pure: `site` is qconf's output. */
export function planHooks(site: Site, scope: HookScope, ours: OurHooks): HookPlan {
  const planner = new Planner(site, ours);
  const chosen = scope.hosts === null ? null : resolveHosts(site, scope.hosts);
  chosen?.problems.forEach((problem) => planner.problem(problem));
  const hosts = chosen?.hosts ?? null;
  const queues = (scope.queues ?? []).map((name): [string, ClusterQueue | undefined] => [name, site.queues.get(name)]);
  for (const [name, queue] of queues)
    if (queue === undefined) planner.problem(`${name}: no such cluster queue; "qconf -sql" lists them`);
  for (const stage of STAGES) {
    if (scope.queues !== null) {
      for (const [name, queue] of queues) if (queue !== undefined) planner.queue(name, queue, stage, hosts, true);
    } else if (hosts !== null) planHosts(planner, stage, hosts);
    else planEverywhere(planner, stage);
  }
  const ofQueues = [...new Set(queues.flatMap(([, queue]) => queue?.hosts ?? []))];
  const reached = scope.queues === null ? (hosts ?? site.execHosts) : ofQueues;
  return {
    changes: planner.changes,
    hosts: hosts === null ? reached : reached.filter((host) => hosts.includes(host)),
    problems: planner.problems,
  };
}

/** Every change in full, old above new, for the admin to read before the changes are made. */
export function showChanges(changes: readonly Change[], screen: Screen): string[] {
  const { style, glyphs, safe } = screen;
  return byTarget(changes).flatMap(([target, ones]) => [
    style.title(safe(targetName(target))),
    ...ones.flatMap(({ stage, old, new: value }) => [
      `  ${stage}  ${safe(old ?? '(not set)')}`,
      `      ${glyphs.arrow.padStart(2)}  ${style.accent(safe(value ?? '(not set)'))}`,
    ]),
  ]);
}

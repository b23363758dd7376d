import { configurationValue } from '../../gridengine/configuration';
import { recogniseHookCommand, unwrapHookCommand, type HookStage } from '../../gridengine/our-hook';
import { formatQueueValue, parseQueueValue, type QueueValue } from '../../gridengine/queue-value';
import type { Site } from '../../gridengine/site';
import { configurationsOf, sameValue, STAGES, targetName, type Change, type Target } from './hook-plan';

interface RemovalPlan {
  readonly changes: readonly Change[];
  /** Where the restored value is not the one in the backup, or there is no backup; one line each. */
  readonly remarks: readonly string[];
  /** What can't be undone, with its fix. */
  readonly problems: readonly string[];
}

interface Original {
  readonly value: string | null;
  readonly remark: string | null;
}

function partsOf({ value, overrides }: QueueValue): readonly string[] {
  return [...(value === null ? [] : [value]), ...overrides.map((override) => override.value)];
}

/** Whether a value, or a part of a queue's value, starts our hook. */
function isOurs(target: Target, value: string, directories: readonly string[]): boolean {
  if (target.kind !== 'queue') return recogniseHookCommand(value, directories) !== null;
  const parsed = parseQueueValue(value);
  return parsed.ok && partsOf(parsed.value).some((part) => recogniseHookCommand(part, directories) !== null);
}

/** The value before ours, from the changes that installations recorded; undefined: not recorded. */
function beforeOurs(
  target: Target,
  stage: HookStage,
  value: string,
  history: readonly Change[],
  directories: readonly string[],
): string | null | undefined {
  const place = targetName(target);
  let now = value;
  for (const change of [...history].reverse()) {
    if (targetName(change.target) !== place || change.stage !== stage || !sameValue(target, change.new, now)) continue;
    if (change.old === null || !isOurs(target, change.old, directories)) return change.old;
    now = change.old;
  }
  return undefined;
}

/** The value with our line replaced by the site's hook that it chains, in every part of a queue's value. */
function unwrapped(target: Target, value: string, directories: readonly string[]): string | null {
  if (target.kind !== 'queue') return unwrapHookCommand(value, directories);
  const parsed = parseQueueValue(value);
  if (!parsed.ok) return null;
  const bare = (part: string): string => unwrapHookCommand(part, directories);
  const result = formatQueueValue({
    value: parsed.value.value === null ? null : bare(parsed.value.value),
    overrides: parsed.value.overrides.map((override) => ({ ...override, value: bare(override.value) })),
  });
  return result.ok ? result.value : null;
}

function original(
  target: Target,
  stage: HookStage,
  value: string,
  history: readonly Change[],
  directories: readonly string[],
): Original {
  const before = beforeOurs(target, stage, value, history, directories);
  if (before !== undefined) return { value: before, remark: null };
  const place = `${targetName(target)}: ${stage}`;
  const bare = unwrapped(target, value, directories);
  const known = history.filter((change) => targetName(change.target) === targetName(target) && change.stage === stage);
  const first = known.find((change) => change.old === null || !isOurs(target, change.old, directories));
  if (first === undefined)
    return { value: bare, remark: `${place}: no backup shows what it was; what our line starts is set` };
  return first.old === bare
    ? { value: bare, remark: null }
    : {
        value: bare,
        remark: `${place}: was changed after the installation; what our line starts now is set, and the backup has "${first.old ?? '(not set)'}"`,
      };
}

/**
 * The changes that take our hooks out of Grid Engine everywhere. `history`: changes of earlier installations, oldest
 * first; where they don't help, the site's hook is taken from our line. Pure.
 */
export function planRemoval(site: Site, history: readonly Change[], directories: readonly string[]): RemovalPlan {
  const changes: Change[] = [];
  const remarks: string[] = [];
  const problems: string[] = [];
  for (const [target, configuration] of configurationsOf(site))
    for (const stage of STAGES) {
      const old = configurationValue(configuration, stage);
      if (old === null || !isOurs(target, old, directories)) continue;
      const { value, remark } = original(target, stage, old, history, directories);
      if (remark !== null) remarks.push(remark);
      if (value === null && target.kind !== 'host')
        problems.push(`${targetName(target)}: ${stage}: its value can't be taken apart; set it with qconf`);
      else changes.push({ target, stage, old, new: value });
    }
  return { changes, remarks, problems };
}

/** Where Grid Engine's configuration names our hooks now. */
export function placesWithOurs(site: Site, directories: readonly string[]): readonly string[] {
  return planRemoval(site, [], directories).changes.map(({ target }) => targetName(target));
}

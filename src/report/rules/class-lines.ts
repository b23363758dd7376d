import { groupBy } from '../../base/group-by';
import { formatCount, formatMemoryTime, formatSlotTimes } from '../format/units';
import type { JobRun } from '../job/job-run';
import { wrap } from '../screen/layout';
import type { Screen, Tone } from '../screen/screen';
import type { Classes, Finding } from './judge';
import type { Severity } from './rule';

const TONES: Readonly<Record<Severity, Tone>> = { high: 'bad', medium: 'warning', low: 'warning' };

/** The verdict on the request says the same. */
const SAID_BY_VERDICT: ReadonlySet<string> = new Set(['memory-close', 'memory-far-below']);

/** "12.3 GiB·h"; '': not known. */
export function costText(cost: Pick<Finding, 'cost_gib_hours' | 'cost_slot_hours'>, dot: string): string {
  if (cost.cost_gib_hours !== null) return formatMemoryTime(cost.cost_gib_hours, dot);
  if (cost.cost_slot_hours === null) return '';
  const { texts, unit } = formatSlotTimes([cost.cost_slot_hours], `slot${dot}`);
  return `${texts.join()} ${unit}`;
}

const ownWords = (text: string, screen: Screen): string => screen.safe(text).replaceAll('·', screen.glyphs.dot);

function renderFinding(finding: Finding, width: number, screen: Screen): string[] {
  const cost = costText(finding, screen.glyphs.dot);
  const words = `${finding.class}: ${ownWords(finding.evidence, screen)}${cost === '' ? '' : `; cost ${cost}`}`;
  return [
    ...wrap(words, width).map(screen.style[TONES[finding.severity]]),
    ...(finding.hint === '' ? [] : wrap(ownWords(finding.hint, screen), width - 2))
      .map((line) => `  ${line}`)
      .map(screen.style.faint),
  ];
}

/** The worst class of a run that the verdict does not speak of, and the names of the others. */
export function renderWorstClass(classes: Classes | null, hasVerdict: boolean, screen: Screen): string[] {
  const [worst, ...others] = (classes?.found ?? []).filter((one) => !(hasVerdict && SAID_BY_VERDICT.has(one.class)));
  if (worst === undefined) return [];
  const names = others.map((one) => one.class).join(', ');
  const more = others.length === 0 ? [] : wrap(`Also ${names}: --full`, screen.width - 2).map(screen.style.faint);
  return ['', ...[...renderFinding(worst, screen.width - 2, screen), ...more].map((line) => `  ${line}`)];
}

/** All classes of a run, and those that could not be judged. */
export function renderClasses(classes: Classes | null, width: number, screen: Screen): string[] {
  if (classes === null) return [];
  const { found, unknown } = classes;
  const open = unknown.length === 0 ? [] : wrap(`not known: ${unknown.join(', ')}`, width).map(screen.style.faint);
  return [...found.flatMap((finding) => renderFinding(finding, width, screen)), ...open];
}

/** "20 tasks leak, 3 idle-cores: the first, task 7, ...": a line for each class of an array's tasks. */
export function renderClassCounts(tasks: readonly JobRun[], width: number, screen: Screen): string[] {
  const found = tasks.flatMap(({ record, classes }) =>
    (classes?.found ?? []).map((finding) => ({ finding, task: record.task_id ?? 0 })),
  );
  const groups = [...groupBy(found, ({ finding }) => finding.class)].sort(([, a], [, b]) => b.length - a.length);
  return groups.flatMap(([name, group]) => {
    const [first] = group;
    if (first === undefined) return [];
    const count = `${formatCount(group.length)} task${group.length === 1 ? '' : 's'}`;
    return wrap(`${name}: ${count}; task ${first.task}: ${ownWords(first.finding.evidence, screen)}`, width).map(
      screen.style[TONES[first.finding.severity]],
    );
  });
}

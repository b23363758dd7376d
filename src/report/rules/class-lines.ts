import { formatMemoryTime, formatSlotTimes, plural } from '../format/units';
import { wrap } from '../screen/layout';
import { ownWords, type Screen, type Tone } from '../screen/screen';
import type { ClassCount, Classes, Finding } from './judge';
import type { Severity } from './rule';

const TONES: Readonly<Record<Severity, Tone>> = { high: 'bad', medium: 'warning', low: 'warning' };

/** Classes that say the same as the verdict on the request. */
const SAID_BY_VERDICT: ReadonlySet<string> = new Set(['memory-close', 'memory-far-below']);

/** "12.3 GiB·h"; '': unknown. */
export function costText(cost: Pick<Finding, 'cost_gib_hours' | 'cost_slot_hours'>, dot: string): string {
  if (cost.cost_gib_hours !== null) return formatMemoryTime(cost.cost_gib_hours, dot);
  if (cost.cost_slot_hours === null) return '';
  const { texts, unit } = formatSlotTimes([cost.cost_slot_hours], `slot${dot}`);
  return `${texts.join()} ${unit}`;
}

/** Our own text that contains names users chose, made safe for the screen. */
const safeWords = (text: string, screen: Screen): string => screen.safe(ownWords(text, screen));

function renderFinding(finding: Finding, width: number, screen: Screen): string[] {
  const cost = costText(finding, screen.glyphs.dot);
  const words = `${finding.class}: ${safeWords(finding.evidence, screen)}${cost === '' ? '' : `; cost ${cost}`}`;
  return [
    ...wrap(words, width).map(screen.style[TONES[finding.severity]]),
    ...(finding.hint === '' ? [] : wrap(safeWords(finding.hint, screen), width - 2))
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

/** "leak: 20 tasks; task 7: ...": a line for each class of an array's tasks, the most frequent first. */
export function renderClassCounts(classes: readonly ClassCount[], width: number, screen: Screen): string[] {
  return classes
    .toSorted((a, b) => b.count - a.count)
    .flatMap(({ count, task, finding }) => {
      const tasks = plural(count, 'task');
      const evidence = safeWords(finding.evidence, screen);
      return wrap(`${finding.class}: ${tasks}; task ${task ?? 0}: ${evidence}`, width).map(
        screen.style[TONES[finding.severity]],
      );
    });
}

import { formatCount, formatMemoryTime, formatSlotTimes, plural } from '../format/units';
import { unbroken, wrap, type Part } from '../screen/layout';
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

/** The worst class of a run that the verdict does not speak of, and the names of the others; in short the names alone. */
export function renderWorstClass(classes: Classes | null, hasVerdict: boolean, screen: Screen): Required<Part> {
  const found = (classes?.found ?? []).filter((one) => !(hasVerdict && SAID_BY_VERDICT.has(one.class)));
  const [worst, ...others] = found;
  if (worst === undefined) return { lines: [], short: [] };
  const room = screen.width - 2;
  const indented = (lines: readonly string[]): string[] => lines.map((line) => `  ${line}`);
  const named = (words: string, of: readonly Finding[]): string[] =>
    wrap(`${words} ${of.map((one) => one.class).join(', ')}: --full`, room);
  const also = others.length === 0 ? [] : named('Also', others).map(screen.style.faint);
  return {
    lines: indented([...renderFinding(worst, room, screen), ...also]),
    short: indented(named('Classes:', found).map(screen.style[TONES[worst.severity]])),
  };
}

/** All classes of a run, and those that could not be judged. */
export function renderClasses(classes: Classes | null, width: number, screen: Screen): string[] {
  if (classes === null) return [];
  const { found, unknown } = classes;
  const open = unknown.length === 0 ? [] : wrap(`not known: ${unknown.join(', ')}`, width).map(screen.style.faint);
  return [...found.flatMap((finding) => renderFinding(finding, width, screen)), ...open];
}

/**
 * The classes of an array's tasks, the most frequent first: "leak: 20 tasks; task 7: ..." each; in short "20 leak".
 */
export function renderClassCounts(classes: readonly ClassCount[], width: number, screen: Screen): Required<Part> {
  const sorted = classes.toSorted((a, b) => b.count - a.count);
  const all = sorted.flatMap(({ count, task, finding }) => {
    const evidence = safeWords(finding.evidence, screen);
    const words = `${finding.class}: ${plural(count, 'task')}; task ${task ?? 0}: ${evidence}`;
    return wrap(words, width).map(screen.style[TONES[finding.severity]]);
  });
  const counted = sorted.map(({ count, finding }) => unbroken(`${formatCount(count)} ${finding.class}`));
  return { lines: all, short: counted.length === 0 ? [] : wrap(counted.join(` ${screen.glyphs.dot} `), width) };
}

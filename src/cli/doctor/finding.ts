import { wrap } from '../../report/screen/layout';
import type { Screen } from '../../report/screen/screen';
import { plural } from '../../report/format/units';

/** A note is neither good nor bad, a warning costs figures, a problem costs records or jobs. */
export const SEVERITIES = ['ok', 'note', 'warning', 'problem'] as const;
type Severity = (typeof SEVERITIES)[number];

/** What one check of the node or the cluster found. */
export interface Finding {
  /** The heading above it: program, kernel, limits, sources, state, accounting, clock, Grid Engine ... */
  readonly area: string;
  readonly name: string;
  readonly severity: Severity;
  /** The state, and unless it is ok, its cause and consequence. */
  readonly says: string;
  /** What to do about it; null: nothing. */
  readonly fix: string | null;
}

type Say = (name: string, says: string, fix?: string | null) => Finding;

/** Makers of findings in one area. */
export function findingsIn(area: string): Readonly<Record<Severity, Say>> {
  const maker =
    (severity: Severity): Say =>
    (name, says, fix = null) => ({ area, name, severity, says, fix });
  return { ok: maker('ok'), note: maker('note'), warning: maker('warning'), problem: maker('problem') };
}

/** The first names, and how many more there are. */
export function firstOf(names: readonly string[], most: number): string {
  const more = names.length - most;
  return `${names.slice(0, most).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

const WORDS: Readonly<Record<Severity, string>> = { ok: 'ok', note: 'note', warning: 'warning', problem: 'PROBLEM' };
const INDENT = 2;
const WORD_WIDTH = 9;
const NAME_WIDTH = 18;

function painted(severity: Severity, { style }: Screen): string {
  const word = WORDS[severity].padEnd(WORD_WIDTH);
  if (severity === 'ok') return style.good(word);
  if (severity === 'note') return style.faint(word);
  return severity === 'warning' ? style.warning(word) : style.bad(word);
}

function renderFinding(finding: Finding, screen: Screen): string[] {
  const margin = INDENT + WORD_WIDTH + NAME_WIDTH;
  const room = screen.width - margin;
  const says = wrap(screen.safe(finding.says), room);
  const fix = finding.fix === null ? [] : wrap(screen.safe(`${screen.glyphs.advice} ${finding.fix}`), room);
  const head = `${' '.repeat(INDENT)}${painted(finding.severity, screen)}${finding.name.padEnd(NAME_WIDTH - 1)} `;
  return [...says, ...fix].map((line, index) => (index === 0 ? head : ' '.repeat(margin)) + line);
}

function verdict(findings: readonly Finding[], { style }: Screen): string {
  const count = (severity: Severity): number => findings.filter((finding) => finding.severity === severity).length;
  const [problems, warnings] = [count('problem'), count('warning')];
  if (problems > 0) return style.bad(`${plural(problems, 'problem')}, ${plural(warnings, 'warning')}`);
  return warnings > 0 ? style.warning(`no problem, ${plural(warnings, 'warning')}`) : style.good('healthy');
}

/** The findings by area, then the verdict. */
export function renderFindings(findings: readonly Finding[], screen: Screen): string[] {
  const areas = [...new Set(findings.map(({ area }) => area))];
  return [
    ...areas.flatMap((area) => [
      screen.style.title(area),
      ...findings.filter((finding) => finding.area === area).flatMap((finding) => renderFinding(finding, screen)),
    ]),
    '',
    verdict(findings, screen),
  ];
}

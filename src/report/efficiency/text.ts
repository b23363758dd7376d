import { twoDigits } from '../../base/units';
import { countText, formatCount, formatMemoryTimes } from '../format/units';
import { spread } from '../job/title';
import { busyTone, renderBar, renderGauges, shareTone, type Gauge } from '../screen/gauge';
import { wrap } from '../screen/layout';
import { ownWords, type Screen } from '../screen/screen';
import { renderTable } from '../screen/table';
import { padEnd, padStart, widest } from '../screen/text-width';
import type { Report } from './report';
import { isList, type Count, type Group, type Part, type Section, type Text } from './section';
import { coverageSection, overview, sectionsOf, titleOf } from './sections';
import {
  coreTimes,
  hoursText,
  knowsUsedHours,
  peakOfRequested,
  periodText,
  sharesText,
  usedOfRequested,
} from './words';

function inText(text: Text, screen: Screen): string {
  if (isList(text)) return text.map((piece) => inText(piece, screen)).join('');
  if (typeof text === 'string') return ownWords(text, screen);
  if ('name' in text) return screen.safe(text.name);
  if ('sentence' in text) return screen.safe(ownWords(text.sentence, screen));
  if ('code' in text) return screen.style.accent(screen.safe(text.code));
  return 'tone' in text ? screen.style[text.tone](ownWords(text.says, screen)) : '';
}

const indented = (lines: readonly string[]): string[] => lines.map((line) => (line === '' ? '' : `  ${line}`));
const within = (screen: Screen): Screen => ({ ...screen, width: screen.width - 2 });

function paragraph(text: Text | null, screen: Screen): string[] {
  return text === null ? [] : wrap(inText(text, screen), screen.width);
}

function note(text: Text | null, screen: Screen): string[] {
  return paragraph(text, screen).map(screen.style.faint);
}

function renderCounts(counts: readonly Count[], screen: Screen): string[] {
  const width = widest(counts.map(({ count }) => count));
  return counts.flatMap(({ count, says }) =>
    wrap(says, screen.width - width - 2).map((line, index) => `${padStart(index === 0 ? count : '', width)}  ${line}`),
  );
}

/** Each group is a table of its own; remarks on rows follow after the table, since each row is one line. */
function renderGroup(columns: Extract<Part, { kind: 'table' }>['columns'], group: Group, screen: Screen): string[] {
  const { head, rows } = group;
  const table = (place: Screen): string[] =>
    renderTable(
      columns,
      rows.map(({ cells }) => cells.map((cell) => inText(cell, screen))),
      place,
    );
  if (head !== undefined) {
    const { style, safe } = screen;
    return [
      spread(safe(head.name), ownWords(head.says, screen), screen, style.title, (text) => text),
      ...indented(table(within(screen))),
      ...note(head.note, screen),
    ];
  }
  const remarks = rows.flatMap(({ remark }) => (remark === undefined ? [] : [remark]));
  return [...table(screen), ...remarks.flatMap(({ of, says }) => paragraph([`${of}: `, says].flat(), screen))];
}

function renderPart(part: Part, screen: Screen): string[] {
  switch (part.kind) {
    case 'paragraph':
      return paragraph(part.text, screen);
    case 'note':
      return note(part.text, screen);
    case 'hosts':
      return part.hosts.flatMap(({ host, tone, says }) =>
        wrap(`${screen.style[tone](screen.safe(host))}  ${inText(says, screen)}`, screen.width),
      );
    case 'counts':
      return indented(renderCounts(part.counts, within(screen)));
    case 'bar':
      return [];
    case 'table':
      return part.groups.flatMap((group, index) => [
        ...(index === 0 ? [] : ['']),
        ...renderGroup(part.columns, group, screen),
      ]);
  }
}

const renderParts = (parts: readonly Part[], screen: Screen): string[] =>
  indented(parts.flatMap((part) => renderPart(part, within(screen))));

function titled(title: string, lines: readonly string[], screen: Screen): string[] {
  return lines.length === 0 ? [] : ['', screen.style.title(title), ...lines];
}

function renderSection({ title, flush, parts }: Section, screen: Screen): string[] {
  const lines = flush === true ? parts.flatMap((part) => renderPart(part, screen)) : renderParts(parts, screen);
  return titled(title, lines, screen);
}

function gauges({ site }: Report, screen: Screen): readonly Gauge[] {
  return [
    { name: 'Memory, mean', share: site.memory_efficiency, amount: usedOfRequested(site), toneOf: shareTone },
    { name: 'Memory, peak', share: site.peak_efficiency, amount: peakOfRequested(site), toneOf: shareTone },
    { name: 'CPU', share: site.cpu_efficiency, amount: coreTimes(site), toneOf: busyTone },
  ].map(({ name, share, amount, toneOf }) => ({ name, share, amount: ownWords(amount, screen), tone: toneOf(share) }));
}

interface Bar {
  readonly name: string;
  readonly part: number;
  /** A second share of the whole bar, drawn behind `part`. */
  readonly behind?: number;
  readonly text: string;
}

function renderBars(bars: readonly Bar[], screen: Screen): string[] {
  const names = widest(bars.map(({ name }) => name));
  const texts = widest(bars.map(({ text }) => text));
  const room = Math.max(10, Math.min(60, screen.width - names - texts - 6));
  return bars.map(({ name, part, behind, text }) => {
    if (behind === undefined)
      return `  ${padEnd(name, names)}  ${renderBar(part, room, screen, screen.style.accent)}  ${padStart(text, texts)}`;
    const used = Math.round(part * room);
    const bar =
      screen.style.accent(screen.glyphs.barFull.repeat(used)) +
      screen.glyphs.barAsked.repeat(Math.max(0, Math.round(behind * room) - used));
    return `  ${padEnd(name, names)}  ${padEnd(bar, room)}  ${padStart(text, texts)}`;
  });
}

const HOURS_A_BAR = 3;

function renderHours(report: Report, screen: Screen): string[] {
  const text = hoursText(report);
  if (text === null) return [];
  const parts = Array.from({ length: 24 / HOURS_A_BAR }, (_, index) => {
    const hours = report.hours.slice(index * HOURS_A_BAR, (index + 1) * HOURS_A_BAR);
    return {
      asked: hours.reduce((sum, hour) => sum + hour.requested_gib_hours, 0),
      used: hours.reduce((sum, hour) => sum + hour.used_gib_hours, 0),
    };
  });
  const most = parts.reduce((least, { asked, used }) => Math.max(least, asked, used), 0);
  const { texts, unit } = formatMemoryTimes(
    parts.flatMap(({ used, asked }) => [used, asked]),
    screen.glyphs.dot,
  );
  const isKnown = knowsUsedHours(report);
  const bars = parts.map(({ asked, used }, index): Bar => ({
    name: `${twoDigits(index * HOURS_A_BAR)}-${twoDigits((index + 1) * HOURS_A_BAR)} h`,
    part: used / most,
    behind: asked / most,
    text: `${isKnown ? (texts[2 * index] ?? '') : 'unknown'} / ${texts[2 * index + 1] ?? ''} ${unit}`,
  }));
  return [...renderBars(bars, screen), ...indented(note(text, within(screen)))];
}

const SHARE_STEPS = [0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1] as const;

function renderShares(report: Report, screen: Screen): string[] {
  const text = sharesText(report);
  if (text === null) return [];
  const between = (from: number, to: number | null): number =>
    report.shares.reduce((sum, bin) => {
      const inside = to === null ? bin.to === null : bin.to !== null && bin.from >= from - 1e-9 && bin.to <= to + 1e-9;
      return inside ? sum + bin.records : sum;
    }, 0);
  const steps = [
    ...SHARE_STEPS.map((to, index) => {
      const from = SHARE_STEPS[index - 1] ?? 0;
      return { name: `${from * 100}-${to * 100} %`, records: between(from, to) };
    }),
    { name: `${screen.glyphs.atLeast} 100 %`, records: between(1, null) },
  ];
  const most = steps.reduce((sum, { records }) => Math.max(sum, records), 1);
  const bars = steps.map(({ name, records }): Bar => ({ name, part: records / most, text: formatCount(records) }));
  return [...renderBars(bars, screen), ...indented(note(text, within(screen)))];
}

/** The report for a terminal (or a plain text mail), as wide as it is. */
export function renderReport(report: Report, screen: Screen): string[] {
  const { style } = screen;
  const drawn = report.site.records === 0 ? [] : [...renderGauges(gauges(report, screen), screen), ''];
  return [
    spread(inText(titleOf(report), screen), countText(report.site), screen, style.title, style.title),
    style.faint(ownWords(periodText(report), screen)),
    '',
    ...drawn,
    ...renderParts(overview(report), screen),
    ...sectionsOf(report, 'text').flatMap((section) => renderSection(section, screen)),
    ...titled('Memory by hour of the day: used / requested', renderHours(report, screen), screen),
    ...titled('Peak over limit: records', renderShares(report, screen), screen),
    ...renderSection(coverageSection(report), screen),
  ];
}

import type { Screen } from './screen';
import { displayWidth } from './text-width';

/** Columns that the names of sections take at the left. */
export const SECTION_INDENT = 10;

/** Lines of a section, with its name at the left of the first; none for no lines. */
export function renderSection(name: string, lines: readonly string[], screen: Screen): string[] {
  return lines.map((line, index) =>
    `${index === 0 ? screen.style.title(name) + ' '.repeat(SECTION_INDENT - name.length) : ' '.repeat(SECTION_INDENT)}${line}`.trimEnd(),
  );
}

const NO_BREAK = '\u00a0';

/** A text in which `wrap` breaks no line. */
export const unbroken = (text: string): string => text.replaceAll(' ', NO_BREAK);

/** Lines of at most `width` columns, broken at blanks only: a longer word stays whole. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line !== '' && displayWidth(longer) > width) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  return [...lines, line].map((one) => one.replaceAll(NO_BREAK, ' '));
}

/** Lines with an empty one before them; nothing for no lines. */
export const blank = (lines: readonly string[]): string[] => (lines.length === 0 ? [] : ['', ...lines]);

/** Lines of a screen; `short`: the lines (perhaps none) that stand in their place where there is too little room. */
export interface Part {
  readonly lines: readonly string[];
  readonly short?: readonly string[];
}

/** The parts on at most `mostLines` lines as far as their short forms allow; the first ones are given room first. */
export function fitLines(parts: readonly Part[], mostLines: number): string[] {
  const least = parts.reduce((sum, { lines, short = lines }) => sum + short.length, 0);
  let room = mostLines - least;
  return parts.flatMap(({ lines, short = lines }) => {
    const more = lines.length - short.length;
    if (more > room) return short;
    room -= more;
    return lines;
  });
}

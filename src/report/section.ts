import type { Screen } from './screen';

/** Columns that the names of sections take at the left. */
export const SECTION_INDENT = 10;

/** Lines under a name at their left; nothing for no lines. */
export function renderSection(name: string, lines: readonly string[], screen: Screen): string[] {
  return lines.map((line, index) =>
    `${index === 0 ? screen.style.title(name) + ' '.repeat(SECTION_INDENT - name.length) : ' '.repeat(SECTION_INDENT)}${line}`.trimEnd(),
  );
}

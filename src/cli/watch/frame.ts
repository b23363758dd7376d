import { displayWidth, truncate } from '../../report/screen/text-width';

const ESCAPE = '\u001b[';
const ENTER = `${ESCAPE}?1049h${ESCAPE}?25l${ESCAPE}?7l${ESCAPE}2J`;
const LEAVE = `${ESCAPE}?7h${ESCAPE}?25h${ESCAPE}?1049l`;

/** Enter: the alternate screen, cursor hidden, no line wrapping; leave: the reverse. */
export const SCREEN_CODES = { enter: ENTER, leave: LEAVE } as const;

/** The lines that were drawn last, and the width of the screen then. */
export interface Drawn {
  readonly width: number;
  readonly lines: readonly string[];
}

/**
 * The text that turns what was drawn into a new frame of at most `rows` lines; it redraws only lines that differ.
 * `before` null: nothing was drawn, or the screen's content can't be trusted.
 */
export function drawFrame(
  before: Drawn | null,
  frame: readonly string[],
  width: number,
  rows: number,
): { readonly text: string; readonly drawn: Drawn } {
  const lines = frame.slice(0, rows).map((line) => cutLine(line, width));
  const known = before?.width === width ? before.lines : null;
  const old = known ?? [];
  // Erase before writing: after a line as wide as the screen, the cursor stays on the last column, and would erase it.
  const changed = lines.flatMap((line, row) =>
    old[row] === line ? [] : [`${ESCAPE}${row + 1};1H${ESCAPE}2K${line}${ESCAPE}0m`],
  );
  const shorter = old.length > lines.length ? [`${ESCAPE}${lines.length + 1};1H${ESCAPE}J`] : [];
  const text = [...(known === null ? [`${ESCAPE}2J`] : []), ...changed, ...shorter].join('');
  return { text, drawn: { width, lines } };
}

// eslint-disable-next-line no-control-regex -- our own colour codes
const CODE = /(\u001b\[[\d;]*m)/;

/** Cuts a line with colour codes to `width` columns; all codes stay, so that no colour runs on. */
export function cutLine(line: string, width: number): string {
  if (displayWidth(line) <= width) return line;
  let room = width;
  let cut = '';
  for (const piece of line.split(CODE)) {
    if (CODE.test(piece)) {
      cut += piece;
      continue;
    }
    const shown = truncate(piece, room, '');
    cut += shown;
    room -= displayWidth(shown);
    // After a wide character that did not fit, no later character may take its place.
    if (shown !== piece) room = 0;
  }
  return cut;
}

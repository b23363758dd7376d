import { displayWidth, truncate } from '../../report/display-width';

// eslint-disable-next-line no-control-regex -- our own colour codes
const CODE = /(\u001b\[[\d;]*m)/;

/** A line with colour codes cut to `width` columns; the codes stay, so that no colour runs on. */
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
    // After a wide character that did not fit nothing else may take its place.
    if (shown !== piece) room = 0;
  }
  return cut;
}

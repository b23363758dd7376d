// Wide characters by Unicode's EastAsianWidth (W and F), as blocks rather than single characters.
const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{16fe0}-\u{18cff}\u{1aff0}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}\p{Emoji_Presentation}]/u;
const ZERO = /^[\p{M}\p{Cf}]/u;

// eslint-disable-next-line no-control-regex -- our own colour codes take no room
const COLOUR_CODES = /\u001b\[[\d;]*m/g;

/** One column each: ASCII, Latin, dashes, quotes, dots, lines and blocks. */
const NARROW = /^[ -~\u00a1-\u00ac\u00ae-\u02ff\u2010-\u2027\u2500-\u259f]*$/;

/** Variation selector 16: after a narrow sign it asks for the sign as an emoji, which is wide. */
const PICTURE_PLEASE = '\ufe0f';

function characterWidth(character: string, before: string): number {
  if (character === PICTURE_PLEASE) return before !== '' && characterWidth(before, '') === 1 ? 1 : 0;
  if (ZERO.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}

/** Columns that text takes on a terminal; colour codes take none. */
export function displayWidth(text: string): number {
  if (NARROW.test(text)) return text.length;
  const plain = text.replace(COLOUR_CODES, '');
  if (NARROW.test(plain)) return plain.length;
  let width = 0;
  let before = '';
  for (const character of plain) {
    width += characterWidth(character, before);
    before = character;
  }
  return width;
}

/** Text (without colour codes) cut to `width` columns; the cut is marked by `mark`. */
export function truncate(text: string, width: number, mark: string): string {
  if (displayWidth(text) <= width) return text;
  const room = width - displayWidth(mark);
  if (room < 0) return mark.slice(0, Math.max(0, width));
  let kept = '';
  let used = 0;
  let before = '';
  for (const character of text) {
    used += characterWidth(character, before);
    if (used > room) break;
    kept += character;
    before = character;
  }
  return kept + mark;
}

/** Text with blanks behind up to `width` columns. */
export function padEnd(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - displayWidth(text)));
}

/** Text with blanks in front up to `width` columns. */
export function padStart(text: string, width: number): string {
  return ' '.repeat(Math.max(0, width - displayWidth(text))) + text;
}

/** Columns that the widest of some texts takes. */
export function widest(texts: readonly string[]): number {
  return texts.reduce((most, text) => Math.max(most, displayWidth(text)), 0);
}

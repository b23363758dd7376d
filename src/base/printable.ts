function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code <= 0xff) return `\\x${code.toString(16).padStart(2, '0')}`;
  return code <= 0xffff ? `\\u${code.toString(16).padStart(4, '0')}` : `\\u{${code.toString(16)}}`;
}

/**
 * Control, format (bidi overrides, zero-width), lone surrogate, private and unassigned characters, separators other
 * than the blank, and any combining mark beyond the third in a row.
 */
const UNSAFE = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}|(?<=\p{M}{3})\p{M}/gu;

/** As UNSAFE, where only ASCII is shown. */
const NOT_PRINTABLE_ASCII = /[^ -~]/gu;

/**
 * Text that users chose (job names, owners, commands) as one line of a terminal or a log: whatever could begin another
 * line, move the cursor, reorder or hide is shown as an escape (`\x0a`, `\x1b`, `\u202e`).
 */
export function printable(text: string, unicode = true): string {
  return text.replace(unicode ? UNSAFE : NOT_PRINTABLE_ASCII, escaped);
}

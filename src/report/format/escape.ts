import { printable } from '../../base/printable';

/** How text that users chose (job names, owners, commands) is made harmless for the place where it is printed. */

/**
 * Text for a terminal: whatever could move the cursor, reorder or hide text is shown as an escape (`\x1b`, `\u202e`).
 */
export function escapeForTerminal(text: string, unicode = true): string {
  return printable(text, unicode);
}

/** Most cells look like this, and need no escaping. */
const PLAIN_CELL = /^[\w.:/][\w.:/-]*$/;

/**
 * Text for a CSV cell: no control characters (one record stays one line), no formula for a spreadsheet
 * (a leading = + - @ gets a ' in front), quoted after RFC 4180 where needed.
 */
export function escapeForCsv(text: string): string {
  if (PLAIN_CELL.test(text)) return text;
  // The full-width forms begin a formula, too, in spreadsheets of some languages (OWASP, "CSV Injection").
  const dangerous = /^(?:[\t\r]| *[=+\-@＝＋－＠])/.test(text);
  const plain = printable(dangerous ? `'${text}` : text);
  return /[",;]|^\s|\s$/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}

const HTML: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Text for an HTML element or a quoted attribute: no markup, and nothing that could reorder or hide text. */
export function escapeForHtml(text: string): string {
  return printable(text).replace(/[&<>"']/g, (character) => HTML[character] ?? '');
}

/** JSON that means the same and is safe to print: what JSON leaves raw (DEL, C1, bidi controls) becomes `\uXXXX`. */
export function escapeJson(json: string): string {
  // Most texts are ASCII: to test that takes a tenth of the time of the replacement.
  if (Buffer.byteLength(json) === json.length && !json.includes('\u007f')) return json;
  return json.replace(/[\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

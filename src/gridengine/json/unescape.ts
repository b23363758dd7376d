import { isUtf8 } from 'node:buffer';

const LETTERS: ReadonlyMap<string, string> = new Map([
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
]);

/**
 * Replaces the escapes of a JSON string. Some builds of Open Cluster Scheduler 9.2 write each byte above 0x7f as an
 * escape of its own (`\u00C3\u00BC` for a ü in UTF-8), so a run of such escapes that is UTF-8 is read as that.
 */
export function unescapeJson(text: string): string {
  return text.replace(/(?:\\u00[89a-fA-F][0-9a-fA-F])+|\\u([0-9a-fA-F]{4})|\\([^])/g, replacement);
}

function replacement(whole: string, code: string | undefined, letter: string | undefined): string {
  if (code !== undefined) return String.fromCharCode(parseInt(code, 16));
  if (letter !== undefined) return LETTERS.get(letter) ?? letter;
  const bytes = Buffer.from(whole.replaceAll('\\u00', ''), 'hex');
  return bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1');
}

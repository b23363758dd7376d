import { createHash } from 'node:crypto';

const SUM_LINE = /^# Sum of the lines above: ([0-9a-f]{16})\b.*\n$/m;

function sumOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** A text of whole lines, in which "#" begins a comment, with a last line that tells whether it was changed since. */
export function withSum(text: string): string {
  return `${text}# Sum of the lines above: ${sumOf(text)}. Where it is not, this file was changed: upgrades leave it alone.\n`;
}

/** Whether a text is one of `withSum`, unchanged. */
export function isAsWritten(text: string): boolean {
  const found = SUM_LINE.exec(text);
  return (
    found !== null && found.index + found[0].length === text.length && found[1] === sumOf(text.slice(0, found.index))
  );
}

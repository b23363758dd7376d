/**
 * A number as qstat and qhost print it: `0.50500`, `1.23e+05`, `-5`, with quotes around it (`'0.005689'`, qhost's
 * priority up to OCS 9.1); null for `-`, `NA`, `inf`, `nan`, blanks and anything else.
 */
export function parsePrintedNumber(text: string): number | null {
  // A row has ten of them, mostly digits and a point, which a loop recognises sooner than the expression does.
  if (isPlain(text)) return Number(text);
  const trimmed = text.trim();
  const bare = trimmed.startsWith("'") && trimmed.endsWith("'") ? trimmed.slice(1, -1) : trimmed;
  if (!/^[+-]?\d{1,40}(?:\.\d{0,40})?(?:[eE][+-]?\d{1,3})?$/.test(bare)) return null;
  const value = Number(bare);
  return Number.isFinite(value) ? value : null;
}

/** A count (slots, processors, a task number): as above, whole and not negative. */
export function parsePrintedCount(text: string): number | null {
  const value = parsePrintedNumber(text);
  return value !== null && value >= 0 && Number.isSafeInteger(value) ? value : null;
}

function isPlain(text: string): boolean {
  const { length } = text;
  if (length === 0 || length > 40) return false;
  let points = 0;
  for (let at = 0; at < length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x2e && at > 0) points += 1;
    else if (code < 0x30 || code > 0x39) return false;
  }
  return points <= 1;
}

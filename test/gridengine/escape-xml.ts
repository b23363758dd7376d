/** As Grid Engine up to OCS 9.1 escapes; what it leaves raw (control characters) is left raw. */
export function escapeOldXml(text: string): string {
  return escapeXml(text).replaceAll('&lt;', '%lt;');
}

/** As OCS 9.2 escapes. */
export function escapeXml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&apos;');
}

/** As OCS 9.2 quotes: every byte above ASCII as a code point of its own. */
export function quoteOcsJson(text: string): string {
  let quoted = '';
  for (const byte of Buffer.from(text)) {
    const character = String.fromCharCode(byte);
    if (character === '"' || character === '\\') quoted += `\\${character}`;
    else if (byte < 0x20 || byte >= 0x80) quoted += `\\u00${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    else quoted += character;
  }
  return `"${quoted}"`;
}

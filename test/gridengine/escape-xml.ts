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

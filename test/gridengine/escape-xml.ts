/** Escapes as Grid Engine up to OCS 9.1 does: control characters stay raw. */
export function escapeOldXml(text: string): string {
  return escapeXml(text).replaceAll('&lt;', '%lt;');
}

/** Escapes as OCS 9.2 does. */
export function escapeXml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&apos;');
}

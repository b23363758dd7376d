const NAMED: ReadonlyMap<string, string> = new Map([
  ['lt', '<'],
  ['gt', '>'],
  ['amp', '&'],
  ['quot', '"'],
  ['apos', "'"],
]);

/**
 * Replaces XML's five entities, numeric ones, and `%lt;`, by which Grid Engine up to OCS 9.1 writes `<`. It does not
 * escape `%`, so a text that holds the four characters `%lt;` reads as `<`, too. What is no entity stays as it is.
 */
export function decodeEntities(text: string): string {
  return text.replace(/%lt;|&(?:([a-z]{2,4})|#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6}));/g, replacement);
}

function replacement(
  whole: string,
  name: string | undefined,
  decimal: string | undefined,
  hex: string | undefined,
): string {
  if (name !== undefined) return NAMED.get(name) ?? whole;
  if (decimal === undefined && hex === undefined) return '<';
  const code = decimal === undefined ? parseInt(hex ?? '', 16) : Number(decimal);
  return code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) ? whole : String.fromCodePoint(code);
}

const ESCAPED: ReadonlyMap<string, string> = new Map([...NAMED].map(([name, sign]) => [sign, `&${name};`]));
const UNSAFE = /[&<>"']|%(?=lt;)|[\t\n\r]|[^\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;

/**
 * Text for an element or an attribute of XML 1.0: every reader gets the same text back, `decodeEntities` too. What XML
 * can't hold in any form (control characters, lone surrogates) becomes U+FFFD.
 */
export function escapeXml(text: string): string {
  return text.replace(UNSAFE, (sign) => {
    const named = ESCAPED.get(sign);
    if (named !== undefined) return named;
    return /[%\t\n\r]/.test(sign) ? `&#${sign.charCodeAt(0)};` : '\ufffd';
  });
}

/** A message as a mail program reads it. */
export interface ReadMail {
  /** By lower-case name, folded lines joined, encoded words decoded. */
  readonly headers: ReadonlyMap<string, string>;
  /** The names of all headers, in order. */
  readonly names: readonly string[];
  readonly text: string;
  readonly html: string;
  readonly raw: string;
}

function quotedPrintable(text: string): Buffer {
  const joined = text.replace(/=\r?\n/g, '');
  return Buffer.from(
    joined.replace(/=([0-9A-F]{2})/g, (_all, hex: string) => String.fromCharCode(parseInt(hex, 16))),
    'latin1',
  );
}

function decodedWords(text: string): string {
  return text
    .replace(/(=\?[^?]+\?[QB]\?[^?]*\?=)\s+(?==\?)/gi, '$1')
    .replace(/=\?UTF-8\?([QB])\?([^?]*)\?=/gi, (_all, how: string, word: string) =>
      how.toUpperCase() === 'B'
        ? Buffer.from(word, 'base64').toString()
        : quotedPrintable(word.replaceAll('_', ' ')).toString(),
    );
}

function splitHead(text: string): { readonly head: string; readonly body: string } {
  const at = text.indexOf('\r\n\r\n');
  return { head: text.slice(0, at), body: text.slice(at + 4) };
}

function fields(head: string): readonly (readonly [string, string])[] {
  return head
    .replace(/\r\n[ \t]+/g, ' ')
    .split('\r\n')
    .map((line): [string, string] => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), decodedWords(line.slice(colon + 1).trim())];
    });
}

function part(text: string): { readonly type: string; readonly body: string } {
  const { head, body } = splitHead(text);
  const headers = new Map(fields(head));
  const encoding = headers.get('content-transfer-encoding') ?? '';
  const decoded =
    encoding === 'quoted-printable' ? quotedPrintable(body).toString() : Buffer.from(body, 'latin1').toString();
  return { type: headers.get('content-type') ?? '', body: decoded.replaceAll('\r\n', '\n') };
}

/** Reads a message of two alternatives, text and HTML. */
export function readMail(raw: string): ReadMail {
  const { head, body } = splitHead(raw);
  const all = fields(head);
  const headers = new Map(all);
  const boundary = /boundary="([^"]+)"/.exec(headers.get('content-type') ?? '')?.[1] ?? '\0';
  const parts = body
    .split(`--${boundary}`)
    .slice(1, -1)
    .map((one) => part(one.replace(/^\r\n/, '').replace(/\r\n$/, '')));
  const of = (type: string): string => parts.find((one) => one.type.startsWith(type))?.body ?? '';
  return { headers, names: all.map(([name]) => name), text: of('text/plain'), html: of('text/html'), raw };
}

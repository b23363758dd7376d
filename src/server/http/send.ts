import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Body } from './body';

/** An answer as the routes give it. */
export interface Reply {
  readonly status: number;
  readonly body: Body;
  /** How long a client may keep it, in whole seconds; 0: it asks again each time (304 if nothing has changed). */
  readonly maxAge: number;
  readonly headers?: Readonly<Record<string, string>>;
}

const ALWAYS = {
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
  Vary: 'Accept, Accept-Encoding, Authorization, Cookie',
} as const;

/** Whether the caller takes gzip (RFC 9110, 12.5.3: `gzip;q=0` is a no, also beside `*`). */
export function takesGzip(accepted: string | undefined): boolean {
  const taken = new Map(
    (accepted ?? '').split(',').map((item) => {
      const [coding = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase());
      return [coding, !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter))] as const;
    }),
  );
  return taken.get('gzip') ?? taken.get('*') ?? false;
}

/** Whether the caller has this version already (weak comparison). */
export function isCurrent(ifNoneMatch: string | undefined, etag: string): boolean {
  const plain = (tag: string): string => tag.trim().replace(/^W\//, '');
  return (ifNoneMatch ?? '').split(',').some((tag) => tag.trim() === '*' || plain(tag) === plain(etag));
}

function cacheControl({ status, maxAge }: Reply): string {
  if (status !== 200) return 'no-store';
  return maxAge > 0 ? `private, max-age=${maxAge}` : 'private, no-cache';
}

/** Writes an answer: headers only for HEAD, 304 for a caller who has it already. */
export async function send(request: IncomingMessage, response: ServerResponse, reply: Reply): Promise<void> {
  const { body, status } = reply;
  const packed = takesGzip(request.headers['accept-encoding']) ? await body.packed() : null;
  const bytes = packed ?? body.bytes;
  const fresh = status === 200 && isCurrent(request.headers['if-none-match'], body.etag);
  response.writeHead(fresh ? 304 : status, {
    ...ALWAYS,
    ...reply.headers,
    'Cache-Control': cacheControl(reply),
    ...(status === 200 ? { ETag: body.etag } : {}),
    ...(fresh
      ? {}
      : {
          'Content-Type': body.type,
          'Content-Length': bytes.length,
          ...(packed === null ? {} : { 'Content-Encoding': 'gzip' }),
        }),
  });
  if (fresh || request.method === 'HEAD' || bytes.length === 0) response.end();
  // Node takes an answer that was ended for one that was read, and a server that stops would break it off.
  else response.write(bytes, () => response.end());
}

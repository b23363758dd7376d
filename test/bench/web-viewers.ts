import { Agent, get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Seen {
  readonly status: number;
  readonly etag: string;
  readonly bytes: number;
  /** ms from the request to the last byte. */
  readonly ms: number;
}

/** Requests a page as a browser does. */
export function see(port: number, path: string, agent: Agent, etag = ''): Promise<Seen> {
  const began = performance.now();
  const headers = {
    Accept: 'text/html',
    'Accept-Encoding': 'gzip',
    ...(etag === '' ? {} : { 'If-None-Match': etag }),
  };
  return new Promise((resolve, reject) => {
    const asked = get({ host: '127.0.0.1', port, path, agent, headers }, (answer: IncomingMessage) => {
      const pieces: Buffer[] = [];
      answer.on('data', (piece: Buffer) => pieces.push(piece));
      answer.on('error', reject);
      answer.on('end', () => {
        const body = Buffer.concat(pieces);
        const { statusCode: status = 0, headers: given } = answer;
        const ms = performance.now() - began;
        resolve({ status, etag: given.etag ?? etag, bytes: body.length, ms });
      });
    });
    // The server closes an idle connection after a while: a browser repeats the request on a new one.
    asked.on('error', (error) => {
      if (asked.reusedSocket) resolve(see(port, path, agent, etag));
      else reject(error);
    });
  });
}

export interface Views {
  readonly ms: readonly number[];
  /** Answers of another status than 200 and 304. */
  readonly failures: number;
}

/** `viewers` browsers, started one after the other, that each show a page and refresh it every `everySeconds`. */
export async function watchPages(
  port: number,
  paths: readonly string[],
  { viewers, everySeconds, seconds }: Readonly<Record<'viewers' | 'everySeconds' | 'seconds', number>>,
): Promise<Views> {
  const ms: number[] = [];
  let failures = 0;
  const end = performance.now() + seconds * 1000;
  const view = async (index: number): Promise<void> => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const path = paths[index % paths.length] ?? '/';
    await sleep((index / viewers) * everySeconds * 1000);
    let etag = '';
    while (performance.now() < end) {
      const seen = await see(port, path, agent, etag);
      etag = seen.etag;
      ms.push(seen.ms);
      if (seen.status !== 200 && seen.status !== 304) failures += 1;
      await sleep(Math.max(0, everySeconds * 1000 - seen.ms));
    }
    agent.destroy();
  };
  await Promise.all(Array.from({ length: viewers }, (_, index) => view(index)));
  return { ms, failures };
}

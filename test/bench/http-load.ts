import { connect, type Socket } from 'node:net';

/** Results of clients that requested one address repeatedly. */
export interface Load {
  /** ms from each request to the last byte of its answer. */
  readonly ms: readonly number[];
  /** Connections that broke, and answers of another status than 200 and 304. */
  readonly failures: number;
  readonly seconds: number;
}

interface Client {
  readonly socket: Socket;
  /** Bytes still missing from the current answer; null: its head is incomplete. */
  missing: number | null;
  head: string;
  sent: number;
}

/** `clients` connections at once, each with one request under way, for `seconds`, with the least work for each. */
export function loadServer(port: number, request: string, clients: number, seconds: number): Promise<Load> {
  const ms: number[] = [];
  let failures = 0;
  let ending = false;
  const began = performance.now();
  const all: Client[] = [];
  return new Promise((resolve) => {
    const ask = (client: Client): void => {
      client.missing = null;
      client.head = '';
      client.sent = performance.now();
      client.socket.write(request);
    };
    const answered = (client: Client): void => {
      ms.push(performance.now() - client.sent);
      if (!ending) ask(client);
    };
    const hear = (client: Client, piece: Buffer): void => {
      let rest = piece.length;
      if (client.missing === null) {
        const before = client.head.length;
        client.head += piece.toString('latin1');
        const end = client.head.indexOf('\r\n\r\n');
        if (end < 0) return;
        const status = client.head.slice(9, 12);
        if (status !== '200' && status !== '304') failures += 1;
        client.missing = Number(/\r\ncontent-length: (\d+)/i.exec(client.head.slice(0, end))?.[1] ?? 0);
        rest = piece.length - (end + 4 - before);
      }
      client.missing -= rest;
      if (client.missing <= 0) answered(client);
    };
    for (let index = 0; index < clients; index++) {
      const socket = connect(port, '127.0.0.1');
      const client: Client = { socket, missing: null, head: '', sent: 0 };
      all.push(client);
      socket.setNoDelay(true);
      socket.on('connect', () => ask(client));
      socket.on('data', (piece: Buffer) => hear(client, piece));
      socket.on('error', () => (failures += 1));
      socket.on('close', () => {
        if (!ending) failures += 1;
      });
    }
    setTimeout(() => {
      ending = true;
      for (const { socket } of all) socket.destroy();
      resolve({ ms, failures, seconds: (performance.now() - began) / 1000 });
    }, seconds * 1000);
  });
}

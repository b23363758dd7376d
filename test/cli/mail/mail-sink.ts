import { createServer, type AddressInfo, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { listenOnPort } from '../../support/listening';
import { until } from '../../support/until';
import { readMail, type ReadMail } from './read-mail';

export interface SinkMail extends ReadMail {
  readonly envelopeFrom: string;
  readonly envelopeTo: readonly string[];
  readonly secure: boolean;
  readonly user: string | undefined;
}

export interface MailSink {
  readonly port: number;
  readonly mails: SinkMail[];
  /** Ends every connection, as a server does after a timeout; resolves when the clients have closed theirs, too. */
  readonly hangUp: () => Promise<void>;
  /** The refusal of a message to this recipient; null: it is accepted. */
  answer: (to: string) => { readonly code: number; readonly text: string } | null;
  /** The refusal of a recipient; null: accepted. */
  admits: (to: string) => { readonly code: number; readonly text: string } | null;
}

function refusal(reply: { readonly code: number; readonly text: string }): Error {
  return Object.assign(new Error(reply.text), { responseCode: reply.code });
}

/** An SMTP server on this machine that keeps the mails that it accepts; its certificate is self-signed. */
export async function mailSink(t: TestContext, options: SMTPServerOptions = {}): Promise<MailSink> {
  const mails: SinkMail[] = [];
  const server = new SMTPServer({
    disabledCommands: ['AUTH'],
    disableReverseLookup: true,
    ...options,
    onAuth: ({ username, password }, _session, callback) => {
      if (password === 'right') callback(null, { user: username });
      else callback(refusal({ code: 535, text: 'wrong password' }));
    },
    onRcptTo: ({ address }, _session, callback) => {
      const refused = sink.admits(address);
      callback(refused === null ? null : refusal(refused));
    },
    onData: (stream, session, callback) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope;
        const to = rcptTo.map(({ address }) => address);
        const refused = sink.answer(to[0] ?? '');
        if (refused !== null) {
          callback(refusal(refused));
          return;
        }
        mails.push({
          ...readMail(Buffer.concat(chunks).toString('latin1')),
          envelopeFrom: mailFrom === false ? '' : mailFrom.address,
          envelopeTo: to,
          secure: session.secure,
          user: session.user as string | undefined,
        });
        callback(null);
      });
    },
  });
  server.on('error', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.server.address() as AddressInfo;
  const open = new Set<Socket>();
  t.after(async () => {
    const closed = new Promise<void>((resolve) => server.close(resolve));
    open.forEach((socket) => socket.destroy());
    await closed;
  });
  server.server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  const hangUp = async (): Promise<void> => {
    open.forEach((socket) => socket.end());
    await until(() => open.size === 0);
  };
  const sink: MailSink = { port, mails, hangUp, answer: () => null, admits: () => null };
  return sink;
}

/** A server that sends these lines, one for each that it gets (null: nothing from then on). Returns its port. */
export async function scriptedServer(t: TestContext, lines: readonly (string | null)[]): Promise<number> {
  const server = createServer((socket) => {
    let next = 0;
    const say = (): void => {
      const line = lines[next++] ?? null;
      if (line === 'close') socket.destroy();
      else if (line !== null) socket.write(`${line}\r\n`);
    };
    let heard = '';
    socket.on('data', (data) => {
      heard += data.toString('latin1');
      // A whole message gets one line.
      if (heard.endsWith('\r\n')) {
        heard = '';
        say();
      }
    });
    say();
  });
  return listenOnPort(t, server);
}

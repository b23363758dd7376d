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
  /** Ends every connection, as a server does that has waited long enough; resolves when the other ends have gone, too. */
  readonly hangUp: () => Promise<void>;
  /** What to say after a message: nothing: it is taken. */
  answer: (to: string) => { readonly code: number; readonly text: string } | null;
  /** The same to a recipient. */
  admits: (to: string) => { readonly code: number; readonly text: string } | null;
}

function refusal(said: { readonly code: number; readonly text: string }): Error {
  return Object.assign(new Error(said.text), { responseCode: said.code });
}

/** An SMTP server on this machine that keeps what it is sent; its own certificate is self-signed. */
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
      const said = sink.admits(address);
      callback(said === null ? null : refusal(said));
    },
    onData: (stream, session, callback) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope;
        const to = rcptTo.map(({ address }) => address);
        const said = sink.answer(to[0] ?? '');
        if (said !== null) {
          callback(refusal(said));
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

/** A server that says these lines, one for each that it hears (null: nothing more, ever), and its port. */
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
      // A message is one thing to answer.
      if (heard.endsWith('\r\n')) {
        heard = '';
        say();
      }
    });
    say();
  });
  return listenOnPort(t, server);
}

import { Readable } from 'node:stream';
import { rootCertificates } from 'node:tls';
import type SMTPConnectionClass from 'nodemailer/lib/smtp-connection';
import { reasonOf } from '../../base/user-error';
import { MailError, saidByServer, type MailFailure, type WiredMessage } from './message';
import type { SmtpServer } from './mail-server';

/** Time limits in ms. */
export interface SmtpPatience {
  /** For the connection, and for the server's greeting. */
  readonly connect: number;
  /** For any later answer. */
  readonly answer: number;
}

/** RFC 5321 4.5.3.2 allows minutes for each answer; a server that uses them all would delay all other recipients. */
export const SMTP_PATIENCE: SmtpPatience = { connect: 20_000, answer: 60_000 };

/** An exchange (connecting or one message) may take as long as this many answers: some servers drip text endlessly. */
const ANSWERS = 5;

interface SmtpFault extends Error {
  readonly code?: string;
  readonly response?: string;
  readonly responseCode?: number;
  readonly command?: string;
}

const TLS_FAULT = /certificate|self-signed|self signed|altname|CERT_/i;

function fixOf(fault: SmtpFault, { secure, user }: SmtpServer): string {
  const { code, message } = fault;
  if (TLS_FAULT.test(message))
    return `; trust its certificate with ?ca=FILE behind mail_server, or do without with ?tls=unverified${secure ? '' : ' or ?tls=off'}`;
  if (code === 'ETLS' && user === '')
    return '; it offers STARTTLS and did not take it: ?tls=off behind mail_server does without';
  if (code === 'ETLS')
    return '; a password goes over TLS only, and this server did not take STARTTLS: try smtps://, or ?tls=off behind mail_server';
  if (code === 'EAUTH') return '; look at the user in mail_server and at the file of mail_credentials';
  if (code === 'ECONNECTION' || code === 'ESOCKET' || code === 'EDNS' || code === 'ETIMEDOUT')
    return '; does the server run, and may this host use it?';
  return '';
}

function failureOf(fault: SmtpFault, begun: boolean, toRecipient: boolean): MailFailure {
  const { responseCode } = fault;
  if (responseCode === undefined) return begun ? 'doubt' : 'unreachable';
  // 421 means that the server closes the connection, whatever command it answers.
  if (!toRecipient || responseCode === 421) return 'unreachable';
  return responseCode >= 500 ? 'refused' : 'later';
}

type Connection = Pick<SMTPConnectionClass, 'send' | 'quit' | 'close'>;

/** A connection that is logged in. */
interface Line {
  readonly connection: Connection;
  readonly isOver: () => boolean;
  /** Runs one exchange until `done`; rejects if the connection ends meanwhile or the exchange takes too long. */
  readonly during: (exchange: (done: (error?: Error | null) => void) => void) => Promise<void>;
}

async function connect(server: SmtpServer, password: string | null, patience: SmtpPatience): Promise<Line> {
  const { default: SMTPConnection } = await import('nodemailer/lib/smtp-connection');
  const { host, port, secure, tls, ca, user } = server;
  const connection = new SMTPConnection({
    host,
    port,
    secure,
    ignoreTLS: tls === 'off',
    requireTLS: tls !== 'off' && user !== '',
    connectionTimeout: patience.connect,
    greetingTimeout: patience.connect,
    dnsTimeout: patience.connect,
    socketTimeout: patience.answer,
    tls: {
      rejectUnauthorized: tls === 'verify',
      ...(ca === null ? {} : { ca: [...rootCertificates, ca] }),
    },
  });
  let over = false as boolean;
  let fail: (error: unknown) => void = () => undefined;
  const end = (error: unknown): void => {
    over = true;
    fail(error);
  };
  connection.on('error', end);
  connection.on('end', () => {
    end(new Error('the server closed the connection'));
  });
  const longest = patience.connect + ANSWERS * patience.answer;
  const giveUp = (): void => {
    end(new Error(`Timeout: the server has not come to an end within ${longest / 1000} s`));
  };
  const line: Line = {
    connection,
    isOver: () => over,
    during: async (exchange) => {
      const timer = setTimeout(giveUp, longest);
      try {
        await new Promise<void>((resolve, reject) => {
          fail = reject;
          exchange((error) => (error ? reject(error) : resolve()));
        });
      } finally {
        clearTimeout(timer);
      }
    },
  };
  try {
    await line.during((done) => connection.connect(done));
    if (user !== '') await line.during((done) => connection.login({ user, pass: password ?? '' }, done));
    return line;
  } catch (error) {
    connection.close();
    throw error;
  }
}

interface SmtpSender {
  /** Rejects with MailError. */
  readonly send: (message: WiredMessage) => Promise<void>;
  /** Connects, logs in and leaves. Rejects with MailError. */
  readonly test: () => Promise<void>;
  readonly close: () => void;
}

/**
 * Sends messages by SMTP, one after another over one connection as long as it works: many servers delay each new
 * connection. A password never goes over a connection without TLS unless the rule is "off".
 */
export function smtpSender(server: SmtpServer, password: string | null, patience: SmtpPatience): SmtpSender {
  const where = `${server.secure ? 'smtps' : 'smtp'}://${server.host}:${server.port}`;
  let kept: Line | null = null;

  const mailError = (error: unknown, begun: boolean, toRecipient: boolean): MailError => {
    const fault = error as SmtpFault;
    const failure = failureOf(fault, begun, toRecipient && !/^MAIL FROM/i.test(fault.command ?? ''));
    const said = saidByServer(fault.response ?? reasonOf(fault));
    return new MailError(failure, `${where}: ${said}${fixOf(fault, server)}`, error);
  };

  const sendOn = async (line: Line, message: WiredMessage): Promise<void> => {
    let begun = false as boolean;
    // The generator runs only once the server has asked for the message.
    const body = Readable.from(
      (function* () {
        begun = true;
        yield message.raw;
      })(),
    );
    try {
      await line.during((done) => line.connection.send({ from: message.from, to: [message.to] }, body, done));
      kept = line;
    } catch (error) {
      line.connection.close();
      throw mailError(error, begun, true);
    } finally {
      body.destroy();
    }
  };

  const connected = async (): Promise<Line> => {
    try {
      return await connect(server, password, patience);
    } catch (error) {
      throw mailError(error, false, false);
    }
  };

  return {
    send: async (message) => {
      const last = kept;
      kept = null;
      if (last !== null && !last.isOver())
        try {
          await sendOn(last, message);
          return;
        } catch (error) {
          // The server may have closed an idle connection: only a new one shows whether the server can be reached.
          if (!(error instanceof MailError) || error.failure !== 'unreachable') throw error;
        }
      await sendOn(await connected(), message);
    },
    test: async () => (await connected()).connection.quit(),
    close: () => {
      kept?.connection.quit();
      kept = null;
    },
  };
}

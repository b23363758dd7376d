import { Readable } from 'node:stream';
import { MailError, saidByServer, type MailFailure } from './mail-error';
import type { SmtpServer } from './mail-server';
import type { WiredMessage } from './message';

/** Time limits in ms. */
export interface SmtpPatience {
  /** For the connection, and for the server's first word. */
  readonly connect: number;
  /** For any later answer. */
  readonly answer: number;
}

/** RFC 5321 4.5.3.2 allows minutes for each answer; a server that takes them all would hold up every other recipient. */
export const SMTP_PATIENCE: SmtpPatience = { connect: 20_000, answer: 60_000 };

interface SmtpFault extends Error {
  readonly code?: string;
  readonly response?: string;
  readonly responseCode?: number;
  readonly command?: string;
}

const TLS_FAULT = /certificate|self-signed|self signed|altname|CERT_/i;

function mendOf(fault: SmtpFault, { secure }: SmtpServer): string {
  const { code, message } = fault;
  if (TLS_FAULT.test(message))
    return `; trust its certificate with ?ca=FILE behind mail_server, or do without with ?tls=unverified${secure ? '' : ' or ?tls=off'}`;
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
  // 421 ends the whole session, whatever command it answers.
  if (!toRecipient || responseCode === 421) return 'unreachable';
  return responseCode >= 500 ? 'refused' : 'later';
}

/**
 * Sends a message by SMTP, on a connection of its own. A password never goes over a connection without TLS unless the
 * rule is "off". Rejects with MailError.
 */
export async function sendBySmtp(
  server: SmtpServer,
  password: string | null,
  message: WiredMessage,
  patience: SmtpPatience = SMTP_PATIENCE,
): Promise<void> {
  const { default: SMTPConnection } = await import('nodemailer/lib/smtp-connection');
  const { host, port, secure, tls, ca, user } = server;
  const { rootCertificates } = await import('node:tls');
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
  let begun = false as boolean;
  // Pulled only once the server has asked for it.
  const body = Readable.from(
    (function* () {
      begun = true;
      yield message.raw;
    })(),
  );
  let toRecipient = false as boolean;
  try {
    await new Promise<void>((resolve, reject) => {
      connection.on('error', reject);
      connection.on('end', () => {
        reject(new Error('the server closed the connection'));
      });
      connection.connect((fault) => {
        if (fault) {
          reject(fault);
          return;
        }
        const send = (): void => {
          toRecipient = true;
          connection.send({ from: message.from, to: [message.to] }, body, (error) => {
            if (error) reject(error);
            else resolve();
          });
        };
        if (user === '') send();
        else
          connection.login({ user, pass: password ?? '' }, (error) => {
            if (error) reject(error);
            else send();
          });
      });
    });
  } catch (error) {
    const fault = error as SmtpFault;
    const where = `${secure ? 'smtps' : 'smtp'}://${host}:${port}`;
    const aboutRecipient = toRecipient && !/^MAIL FROM/i.test(fault.command ?? '');
    const failure = failureOf(fault, begun, aboutRecipient);
    const said = saidByServer(fault.response ?? fault.message);
    throw new MailError(failure, `${where}: ${said}${mendOf(fault, server)}`, { cause: error });
  } finally {
    body.destroy();
    connection.quit();
    connection.close();
  }
}

import { readFileSync } from 'node:fs';
import { CommandError, EXIT, usageError } from '../command';

/** How a server's certificate is checked; "off": STARTTLS is not used at all. */
type TlsRule = 'verify' | 'unverified' | 'off';

export interface SmtpServer {
  readonly kind: 'smtp';
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte. */
  readonly secure: boolean;
  readonly tls: TlsRule;
  /** Certificates (PEM) to trust besides Node's own. */
  readonly ca: string | null;
  /** '': no login. */
  readonly user: string;
}

interface SendmailServer {
  readonly kind: 'sendmail';
  readonly path: string;
}

type MailServer = SmtpServer | SendmailServer;

const SENDMAIL = '/usr/sbin/sendmail';
const TLS_RULES: readonly TlsRule[] = ['verify', 'unverified', 'off'];

function wrong(text: string, problem: string): CommandError {
  return usageError(
    `mail_server = "${text.replace(/:[^:@/]*@/, ':...@')}": ${problem}; write smtp://[USER@]HOST[:PORT], smtps://..., or the path of a sendmail`,
  );
}

function decoded(text: string, part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw wrong(text, `"${part}" has a "%" that begins no character; a "%" itself is %25`);
  }
}

function readCertificates(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new CommandError(`mail_server: ca=${path}: ${(error as Error).message}`, EXIT.unavailable, { cause: error });
  }
}

/**
 * Parses the setting `mail_server`: a sendmail (empty, or its absolute path), `smtp://[USER@]HOST[:PORT]` (port 25, or
 * 587 with a user) or `smtps://...` (465), with `?tls=verify|unverified|off` and `?ca=FILE`. Throws CommandError.
 */
export function parseMailServer(text: string): MailServer {
  if (text === '') return { kind: 'sendmail', path: SENDMAIL };
  if (text.startsWith('/')) return { kind: 'sendmail', path: text };
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^smtps?:$/.test(url.protocol) || url.hostname === '') throw wrong(text, 'is not a mail server');
  if (url.password !== '') throw wrong(text, 'holds a password, which belongs in the file of mail_credentials');
  if (!/^\/?$/.test(url.pathname) || url.hash !== '') throw wrong(text, 'has a path');
  const unknown = [...url.searchParams.keys()].find((key) => key !== 'tls' && key !== 'ca');
  if (unknown !== undefined) throw wrong(text, `"${unknown}" is not known (tls and ca are)`);
  const secure = url.protocol === 'smtps:';
  const named = url.searchParams.get('tls') ?? 'verify';
  const tls = TLS_RULES.find((rule) => rule === named);
  if (tls === undefined) throw wrong(text, `tls=${named} is none of ${TLS_RULES.join(', ')}`);
  if (secure && tls === 'off') throw wrong(text, 'smtps:// is TLS; tls=off contradicts it');
  const ca = url.searchParams.get('ca');
  const user = decoded(text, url.username);
  return {
    kind: 'smtp',
    host: decoded(text, url.hostname).replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? (secure ? 465 : user === '' ? 25 : 587) : Number(url.port),
    secure,
    tls,
    ca: ca === null ? null : readCertificates(ca),
    user,
  };
}

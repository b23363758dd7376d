import { readSecret } from '../../base/secret-file';
import type { Settings } from '../../record/settings';
import { usageError } from '../command';
import { isAddress, isDomain, parseMailbox, type Mailbox } from './address';
import { parseMailServer } from './mail-server';
import { wireMessage, type Message } from './message';
import { SMTP_PATIENCE, smtpSender, type SmtpPatience } from './send-smtp';
import { findSendmail, sendBySendmail } from './send-sendmail';

/** Sends mails from this host as configured. */
export interface Mailer {
  readonly from: Mailbox;
  /** Domain of the message ids. */
  readonly domain: string;
  /** The mail server or sendmail, for messages. */
  readonly by: string;
  /** Rejects with MailError. */
  readonly send: (message: Message) => Promise<void>;
  /** Checks, without sending a mail, whether one could be sent now. Rejects with MailError. */
  readonly test: () => Promise<void>;
  /** To be called after the last mail. */
  readonly close: () => void;
}

type MailSettings = Pick<Settings, 'mail_server' | 'mail_credentials' | 'mail_from' | 'mail_admins' | 'mail_domain'>;

/** Checks every mail_* setting, and reads the password. Throws CommandError. */
export function createMailer(settings: MailSettings, hostname: string, patience: SmtpPatience = SMTP_PATIENCE): Mailer {
  const server = parseMailServer(settings.mail_server);
  const from = parseMailbox(settings.mail_from);
  if (from === null)
    throw usageError(
      `mail_from = "${settings.mail_from}": is not an address; write name, name@domain or "Name <name@domain>"`,
    );
  const unsound = settings.mail_admins.find((address) => !isAddress(address));
  if (unsound !== undefined) throw usageError(`mail_admins: "${unsound}" is not an address; write name or name@domain`);
  if (settings.mail_domain !== '' && !isDomain(settings.mail_domain))
    throw usageError(`mail_domain = "${settings.mail_domain}": is not a domain; write it as example.org`);
  const needsPassword = server.kind === 'smtp' && server.user !== '';
  if (needsPassword && settings.mail_credentials === '')
    throw usageError(`mail_server names the user "${server.user}", and mail_credentials no file with a password`);
  const password = needsPassword ? readSecret(settings.mail_credentials, 'mail_credentials') : null;
  const named = settings.mail_domain || from.address.split('@')[1] || hostname;
  const domain = isDomain(named) ? named : 'qmemacct.invalid';
  // A sendmail adds its own domain; SMTP requires one (RFC 5321 2.3.11).
  const qualified = (address: string): string =>
    server.kind === 'sendmail' || address.includes('@') ? address : `${address}@${domain}`;
  const smtp = server.kind === 'smtp' ? smtpSender(server, password, patience) : null;
  return {
    from,
    domain,
    by: server.kind === 'sendmail' ? server.path : `${server.host}:${server.port}`,
    send: async (message) => {
      const wired = await wireMessage({
        ...message,
        from: { ...message.from, address: qualified(message.from.address) },
        to: qualified(message.to),
      });
      await (server.kind === 'sendmail' ? sendBySendmail(server.path, wired) : smtp?.send(wired));
    },
    test: async () => {
      if (server.kind === 'sendmail') findSendmail(server.path);
      else await smtp?.test();
    },
    close: () => smtp?.close(),
  };
}

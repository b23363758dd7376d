import { createHash } from 'node:crypto';
import { UserError } from '../../base/user-error';
import type { Mailbox } from './address';

/** A mail with one recipient. */
export interface Message {
  readonly from: Mailbox;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** Without angle brackets. */
  readonly id: string;
  readonly date: Date;
}

/** A message in the form that a mail server gets. */
export interface WiredMessage {
  readonly from: string;
  readonly to: string;
  readonly raw: Buffer;
}

const LONGEST_SUBJECT = 200;

/** One line without control characters, bidi marks and the like, as users may have chosen parts of the text. */
export function headerText(text: string): string {
  const plain = text
    .replace(/[\p{C}\p{Z}]+/gu, ' ')
    .replace(/(?<=\p{M}{3})\p{M}+/gu, '')
    .trim();
  const characters = Array.from(plain);
  return characters.length <= LONGEST_SUBJECT ? plain : `${characters.slice(0, LONGEST_SUBJECT - 1).join('')}…`;
}

/** Text for a mail's body, without control characters except line feeds and tabs. */
function bodyText(text: string): string {
  return text.replace(/\r\n?/g, '\n').replace(/(?![\n\t])\p{Cc}/gu, '\ufffd');
}

/** An id made from what identifies a message (kind, night, cluster, recipient): sent again, it has the same id. */
export function messageId(what: readonly string[], domain: string): string {
  const digest = createHash('sha256').update(JSON.stringify(what)).digest('hex').slice(0, 32);
  return `qmemacct.${digest}@${domain}`;
}

/** The whole message: headers, and the body as text and as HTML. */
export async function wireMessage(message: Message): Promise<WiredMessage> {
  const { default: MailComposer } = await import('nodemailer/lib/mail-composer');
  const { from, to, id, date } = message;
  const composer = new MailComposer({
    from: { name: headerText(from.name), address: from.address },
    to: { name: '', address: to },
    subject: headerText(message.subject),
    text: bodyText(message.text),
    html: bodyText(message.html),
    messageId: `<${id}>`,
    date,
    // Asks for no automatic replies (RFC 3834), such as out-of-office notes.
    headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All', Precedence: 'bulk' },
    textEncoding: 'quoted-printable',
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return { from: from.address, to, raw: await composer.compile().build() };
}

/**
 * Why a mail was not sent:
 * - `refused`: refused for good for this recipient;
 * - `later`: not accepted now, certainly not sent; may be tried again;
 * - `unreachable`: like `later`, and other recipients would fail as well;
 * - `doubt`: handed over, but the server did not say whether it accepted the mail.
 */
export type MailFailure = 'refused' | 'later' | 'unreachable' | 'doubt';

/** A mail that was not sent; the message says what failed, why, and, if known, the fix. */
export class MailError extends UserError {
  constructor(
    readonly failure: MailFailure,
    message: string,
    cause?: unknown,
  ) {
    super(message, { cause });
  }
}

/** A mail server's text as one line without control characters. */
export function saidByServer(text: string): string {
  return text
    .replace(/\p{C}+/gu, ' ')
    .trim()
    .slice(0, 300);
}

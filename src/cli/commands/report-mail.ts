import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { toMailReport } from '../../report/efficiency/mail-report';
import type { Report } from '../../report/efficiency/report';
import type { Settings } from '../../record/settings';
import { CommandError, EXIT, usageError } from '../command-error';
import { ownerAddress } from '../mail/address';
import { MailError } from '../mail/mail-error';
import { createMailer } from '../mail/mailer';
import { messageId } from '../mail/message';

/** Who gets a report by hand. Throws a usage error where the configuration names nobody. */
export function recipientsOf(settings: Settings, owner: string | null): readonly string[] {
  if (owner === null) {
    if (settings.mail_admins.length === 0)
      throw usageError('--mail: mail_admins names nobody; set it, or use --output');
    return [...new Set(settings.mail_admins)];
  }
  const address = ownerAddress(owner, settings.mail_domain);
  if (address === null) throw usageError(`--mail: no address can be made of the name "${owner}"`);
  return [address];
}

/** Sends the report to each of them; resolves to a line for each. Rejects with CommandError at the first that fails. */
export async function mailReport(
  report: Report,
  recipients: readonly string[],
  settings: Settings,
): Promise<readonly string[]> {
  const mailer = createMailer(settings, hostname());
  const { text, html, headline } = toMailReport(report);
  const subject = report.owner === null ? ['qmemacct', ...report.clusters].join(' ') : `Jobs of ${report.owner}`;
  const told: string[] = [];
  try {
    for (const to of recipients) {
      try {
        await mailer.send({
          from: mailer.from,
          to,
          subject: `${subject}: ${headline}`,
          text,
          html,
          // Asked for by hand: each is a mail of its own, unlike those of a night.
          id: messageId(['report', randomUUID(), to], mailer.domain),
          date: new Date(report.created_at),
        });
      } catch (error) {
        if (!(error instanceof MailError)) throw error;
        const before = told.length === 0 ? '' : `; sent before: ${recipients.slice(0, told.length).join(', ')}`;
        throw new CommandError(`--mail: ${to}: ${error.message}${before}`, EXIT.unavailable, { cause: error });
      }
      told.push(`sent to ${to} by ${mailer.by}`);
    }
    return told;
  } finally {
    mailer.close();
  }
}

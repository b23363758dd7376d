import { reasonOf } from '../../base/user-error';
import type { Settings } from '../../record/settings';
import { ownerAddress } from '../mail/address';
import { MailError, type Message } from '../mail/message';
import type { Mailer } from '../mail/mailer';
import type { Ledger, MailName } from './ledger';
import type { MailReport } from '../../report/efficiency/mail-report';
import { digestMail, siteMail, type MailContext } from './night-mail';
import type { DigestChoice } from './digest-choices';

/** Numbers of mails of one night. */
export interface MailCounts {
  readonly sent: number;
  /** Sent in an earlier run, or not to be sent again. */
  readonly before: number;
  readonly refused: number;
  readonly doubt: number;
  /** To be tried in the next run. */
  readonly left: number;
}

export const NO_MAILS: MailCounts = { sent: 0, before: 0, refused: 0, doubt: 0, left: 0 };

type Rule = Pick<Settings, 'mail_owners' | 'mail_domain' | 'mail_admins'>;

/** The owners who get a digest of their jobs, by the site's rule and their own choices. */
export function digestOwners(
  rule: Rule,
  owners: readonly string[],
  choices: ReadonlyMap<string, DigestChoice>,
): readonly string[] {
  if (rule.mail_owners === 'nobody') return [];
  if (rule.mail_owners === 'all') return owners.filter((owner) => choices.get(owner) !== 'off');
  return owners.filter((owner) => choices.get(owner) === 'on');
}

/** The addresses that get the whole report, each once. */
export function siteMailTo(rule: Pick<Rule, 'mail_admins'>): readonly string[] {
  return [...new Set(rule.mail_admins)];
}

/** Whether anybody may get mail at all. */
export function wantsMail(rule: Rule): boolean {
  return rule.mail_admins.length > 0 || rule.mail_owners !== 'nobody';
}

interface NightToSend {
  readonly context: Omit<MailContext, 'mailer'>;
  readonly ledger: Ledger;
  readonly mailer: Mailer;
  readonly rule: Rule;
  readonly site: MailReport;
  readonly ownerReport: (owner: string) => Promise<MailReport>;
  readonly choices: ReadonlyMap<string, DigestChoice>;
  /** Sends mails again that have been sent. */
  readonly again: boolean;
  readonly signal: AbortSignal;
  /** What went wrong so far; `trouble` adds to it. */
  readonly troubles: readonly string[];
  readonly trouble: (line: string) => void;
  readonly onProgress: (done: number, of: number) => void;
}

/** What became of a mail; `stop`: do not try further mails with this server. */
interface MailEnd {
  readonly came: keyof MailCounts;
  readonly stop: boolean;
}

const NAMES: Readonly<Record<MailName['kind'], string>> = {
  digest: 'the digest for',
  site: 'the report to',
  trouble: 'the report to',
  job: 'the mail on a job for',
  risk: 'the warning for',
};

/**
 * Sends a mail unless it was sent before, or may have been. After a server falls silent with a message in hand, `stop`
 * is set: every further mail would end in doubt, too.
 */
export async function sendOnce(
  { ledger, mailer, trouble }: Pick<NightToSend, 'ledger' | 'mailer' | 'trouble'>,
  day: string,
  name: MailName,
  make: () => Promise<Message>,
): Promise<MailEnd> {
  const end = (came: keyof MailCounts, stop = false): MailEnd => ({ came, stop });
  const what = `${NAMES[name.kind]} ${name.to}`;
  if (['sent', 'refused'].includes(ledger.stateOf(day, name))) return end('before');
  let message: Message;
  try {
    message = await make();
  } catch (error) {
    trouble(`${what}: ${reasonOf(error)}`);
    return end('left');
  }
  const claim = ledger.claim(day, name);
  if (claim === 'doubt') {
    trouble(`${what}: an earlier run ended while it was being sent; it may have been sent, and is not sent again`);
    return end('doubt');
  }
  if (claim !== 'mine') return end('before');
  try {
    await mailer.send(message);
    ledger.conclude(day, name, 'sent', '');
    return end('sent');
  } catch (error) {
    if (!(error instanceof MailError)) throw error;
    const { failure } = error;
    if (failure === 'refused') {
      ledger.conclude(day, name, 'refused', error.message);
      trouble(`${what} was refused: ${error.message}`);
      return end('refused');
    }
    if (failure === 'doubt') {
      trouble(`${what} may or may not have been sent, and is not sent again: ${error.message}`);
      return end('doubt', true);
    }
    ledger.release(day, name);
    trouble(`${what} was not sent, the next run tries again: ${error.message}`);
    return end('left', failure === 'unreachable');
  }
}

/** Sends a night's digests, then the report to the admins, so that it names the digests that were not sent. */
export async function sendNight(night: NightToSend): Promise<MailCounts> {
  const { rule, site, choices, signal, trouble, mailer, ledger } = night;
  const context: MailContext = { ...night.context, mailer };
  const owners = digestOwners(rule, site.owners, choices).flatMap((owner) => {
    const to = ownerAddress(owner, rule.mail_domain);
    if (to === null) trouble(`no digest for the owner "${owner}": no address can be made of that name`);
    return to === null ? [] : { owner, to };
  });
  const mails: readonly { readonly name: MailName; readonly make: () => Promise<Message> }[] = [
    ...owners.map(({ owner, to }) => ({
      name: { kind: 'digest', to: owner } as const,
      make: async () => digestMail(context, owner, to, await night.ownerReport(owner), rule.mail_owners === 'all'),
    })),
    ...siteMailTo(rule).map((to) => ({
      name: { kind: 'site', to } as const,
      make: () => Promise.resolve(siteMail(context, to, site, night.troubles)),
    })),
  ];
  // All at once: those that this run does not come to are sent by the next.
  if (night.again) for (const { name } of mails) ledger.release(context.day, name);
  const counts = { ...NO_MAILS };
  for (const [index, { name, make }] of mails.entries()) {
    night.onProgress(index, mails.length);
    if (signal.aborted) return { ...counts, left: counts.left + mails.length - index };
    const { came, stop } = await sendOnce(night, context.day, name, make);
    counts[came]++;
    if (stop) return { ...counts, left: counts.left + mails.length - index - 1 };
  }
  return counts;
}

import type { MailReport } from '../../report/efficiency/mail-report';
import { escapeForHtml, escapeForTerminal } from '../../report/format/escape';
import type { Mailer } from '../mail/mailer';
import { messageId, type Message } from '../mail/message';
import type { MailName } from './ledger';

export interface MailContext {
  readonly mailer: Pick<Mailer, 'from' | 'domain'>;
  readonly cluster: string;
  readonly day: string;
  readonly host: string;
  readonly now: Date;
}

function paragraphs(lines: readonly string[], style: string): string {
  return `<div style="${style}">${lines.map((line) => `<p style="margin:4px 0">${escapeForHtml(line)}</p>`).join('')}</div>`;
}

/** An HTML page with `head` put before its content. */
function withHead(html: string, head: string): string {
  return /<body\b[^>]*>/i.test(html) ? html.replace(/<body\b[^>]*>/i, (tag) => tag + head) : head + html;
}

function withFoot(html: string, foot: string): string {
  const at = html.search(/<\/body\s*>/i);
  return at < 0 ? html + foot : html.slice(0, at) + foot + html.slice(at);
}

const WARNING_STYLE = 'border-left:4px solid #c0392b;padding:4px 12px;margin:12px;font-family:sans-serif';
const FOOT_STYLE = 'margin:16px 12px;font-family:sans-serif;font-size:small;color:#777';

function message({ mailer, cluster, day, now }: MailContext, name: MailName, to: string, parts: Parts): Message {
  return {
    from: mailer.from,
    to,
    id: messageId([name.kind, cluster, day, name.to], mailer.domain),
    date: now,
    ...parts,
  };
}

type Parts = Pick<Message, 'subject' | 'text' | 'html'>;

function ofCluster(cluster: string): string {
  return cluster === '' ? '' : ` ${cluster}`;
}

/** The digest of an owner's jobs, with how to stop it; `all`: this site sends it to everybody. */
export function digestMail(context: MailContext, owner: string, to: string, report: MailReport, all: boolean): Message {
  const { day, cluster, host } = context;
  const why = all ? 'This site sends it to everybody' : 'You turned it on';
  const stop = `${why}; "qmemacct digest off" on ${host} stops it.`;
  return message(context, { kind: 'digest', to: owner }, to, {
    subject: `Your jobs of ${day}${cluster === '' ? '' : ` on ${cluster}`}: ${report.headline}`,
    text: `${report.text}\n-- \n${stop}\n`,
    html: withFoot(report.html, paragraphs([stop], FOOT_STYLE)),
  });
}

/** The report on the whole site, preceded by what went wrong. */
export function siteMail(context: MailContext, to: string, report: MailReport, troubles: readonly string[]): Message {
  const { day, cluster } = context;
  const safe = troubles.map((line) => escapeForTerminal(line));
  const head = ['What went wrong in this night:', ...safe.map((line) => `  ${line}`), '', ''].join('\n');
  return message(context, { kind: 'site', to }, to, {
    subject: `qmemacct${ofCluster(cluster)} ${day}: ${report.headline}${troubles.length > 0 ? ' (with problems)' : ''}`,
    text: troubles.length === 0 ? report.text : head + report.text,
    html:
      troubles.length === 0
        ? report.html
        : withHead(report.html, paragraphs(['What went wrong in this night:', ...troubles], WARNING_STYLE)),
  });
}

/** The mail that says why there is no report. */
export function troubleMail(context: MailContext, name: MailName, to: string, troubles: readonly string[]): Message {
  const { day, cluster, host } = context;
  const lines = [`The nightly job on ${host} made no report of ${day}:`, ...troubles, 'The next run tries again.'];
  return message(context, name, to, {
    subject: `qmemacct${ofCluster(cluster)} ${day}: no report`,
    text: `${lines.map((line) => escapeForTerminal(line)).join('\n')}\n`,
    html: `<!doctype html><meta charset="utf-8"><title>qmemacct</title><body>${paragraphs(lines, WARNING_STYLE)}</body>`,
  });
}

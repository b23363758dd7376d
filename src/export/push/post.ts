import { readFileSync } from 'node:fs';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { rootCertificates } from 'node:tls';
import { MIB } from '../../base/units';
import { reasonOf } from '../../base/user-error';
import { printable } from '../../base/printable';
import { readSecret } from '../../base/secret-file';
import { wholeAnswer } from '../../base/whole-answer';
import type { SinkSettings } from '../../record/export-sinks';
import { later, SENT, type Outcome } from './sink';

/** A server's answer. */
export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly retryAfter: string;
}

interface Posted {
  readonly url: URL;
  readonly type: string;
  /** The scheme for a token in the header Authorization. */
  readonly scheme: 'Token' | 'Bearer' | 'ApiKey';
  readonly body: string;
  readonly patienceMs: number;
}

const MOST_BYTES = 16 * MIB;

/** Certificates to trust; undefined: only Node's own. Throws if the file can't be read. */
export function trustedCertificates({ ca }: Pick<SinkSettings, 'ca'>): string[] | undefined {
  return ca === '' ? undefined : [...rootCertificates, readFileSync(ca, 'utf8')];
}

/** What went wrong with a connection, in one line. */
export function connectionProblem(error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException;
  const reason = reasonOf(error) || code || message;
  return /certificate|self-signed|altname|CERT_|local issuer/i.test(`${code} ${message}`)
    ? `${reason}; is it the right server? "ca" names a certificate to trust`
    : reason;
}

/** The secret is read each time, so that a new one needs no restart. */
function authorization(
  { user, credentials }: SinkSettings,
  scheme: Posted['scheme'],
): Readonly<Record<string, string>> {
  if (credentials === '') return {};
  const secret = readSecret(credentials, 'credentials');
  const value = user === '' ? `${scheme} ${secret}` : `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}`;
  return { authorization: value };
}

/** Posts to a server on a new connection; certificates are always checked. Rejects if there is no complete answer. */
export async function post(settings: SinkSettings, { url, type, scheme, body, patienceMs }: Posted): Promise<Answer> {
  const headers = {
    ...authorization(settings, scheme),
    'content-type': type,
    'content-length': Buffer.byteLength(body),
  };
  const ca = trustedCertificates(settings);
  const options = { method: 'POST', headers, agent: false as const };
  const asked =
    url.protocol === 'https:'
      ? requestHttps(url, { ...options, ...(ca === undefined ? {} : { ca }) })
      : requestHttp(url, options);
  const answer = await wholeAnswer(asked, { timeoutMs: patienceMs, mostBytes: MOST_BYTES }, body);
  return { status: answer.status, text: answer.text, retryAfter: answer.headers['retry-after'] ?? '' };
}

/** A server's text, shortened, without control characters. */
export const printableAnswer = (text: string): string => printable(text.trim().slice(0, 200));

const LONGEST_WAIT_MS = 3_600_000;

/** The wait that the header Retry-After (seconds, or a date) asks for, in ms. */
function waitMs(retryAfter: string): number {
  const wait = /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1000 : Date.parse(retryAfter) - Date.now();
  return Number.isFinite(wait) ? Math.min(LONGEST_WAIT_MS, Math.max(0, wait)) : 0;
}

const WHY: Readonly<Record<number, string>> = {
  401: 'it rejects the user or token: check "user" and "credentials"',
  403: 'the user or token may not write there',
  404: 'it has nothing at this address: check "address"',
  429: 'it is overloaded',
};
/** Statuses for bad data, which will never be accepted; the causes of other refusals may be put right. */
const REFUSES_DATA = [400, 422];

/** What an answer with this status means for `count` items. */
export function outcomeOf({ status, text, retryAfter }: Answer, count: number): Outcome {
  if (status >= 200 && status < 300) return SENT;
  if (status === 413) return { kind: 'too-large' };
  const words = printableAnswer(text);
  if (REFUSES_DATA.includes(status)) return { kind: 'sent', refused: count, reason: `status ${status}: ${words}` };
  return later(`status ${status}: ${WHY[status] ?? words}`, waitMs(retryAfter));
}

/** Posts, and resolves to the outcome, which `judge` reads from the answer. Never rejects. */
export async function tryPost(
  settings: SinkSettings,
  posted: Posted,
  judge: (answer: Answer) => Outcome,
): Promise<Outcome> {
  try {
    return judge(await post(settings, posted));
  } catch (error) {
    return later(connectionProblem(error));
  }
}

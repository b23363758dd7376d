/**
 * Why a mail did not go:
 * - `refused`: for good, for this recipient;
 * - `later`: not now; surely nothing was taken;
 * - `unreachable`: as `later`, and the next recipient would fare no better;
 * - `doubt`: the server had all of it, and did not say whether it took it.
 */
export type MailFailure = 'refused' | 'later' | 'unreachable' | 'doubt';

/** A mail that did not go; the message says what, why and, where known, how to mend it. */
export class MailError extends Error {
  constructor(
    readonly failure: MailFailure,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'MailError';
  }
}

/** What a mail server said, in one harmless line. */
export function saidByServer(text: string): string {
  return text
    .replace(/\p{C}+/gu, ' ')
    .trim()
    .slice(0, 300);
}

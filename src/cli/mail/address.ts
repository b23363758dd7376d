/** A mail address with a display name; name '': none. */
export interface Mailbox {
  readonly name: string;
  readonly address: string;
}

/** A local part that needs no quoting and can't be taken for an option of sendmail. */
const LOCAL_PART = /^[A-Za-z0-9_](?:[A-Za-z0-9_+.-]{0,62}[A-Za-z0-9_+-])?$/;
const DOMAIN =
  /^(?=.{1,253}$)[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/;

function isLocalPart(text: string): boolean {
  return LOCAL_PART.test(text) && !text.includes('..');
}

export function isDomain(text: string): boolean {
  return DOMAIN.test(text);
}

/** Whether this is a single address, `name` or `name@domain`, that a mail server does not interpret any further. */
export function isAddress(text: string): boolean {
  const at = text.indexOf('@');
  return at < 0 ? isLocalPart(text) : isLocalPart(text.slice(0, at)) && isDomain(text.slice(at + 1));
}

/** `address` or `Name <address>`; null for anything else. */
export function parseMailbox(text: string): Mailbox | null {
  const named = /^([^<>]*)<([^<>]*)>$/.exec(text.trim());
  const name = (named?.[1] ?? '').trim().replace(/^"(.*)"$/, '$1');
  const address = (named?.[2] ?? text).trim();
  return isAddress(address) && !/\p{C}/u.test(text) ? { name, address } : null;
}

/**
 * The address of a user of the cluster; null if the name is not a valid local part (`EXAMPLE\bob`, `bob@elsewhere`):
 * we don't guess where mail for such a name would go.
 */
export function ownerAddress(owner: string, domain: string): string | null {
  if (!isLocalPart(owner)) return null;
  return domain === '' ? owner : `${owner}@${domain}`;
}

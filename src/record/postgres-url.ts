/** Whether `accounting` names a PostgreSQL database, not a file. */
export function isPostgresUrl(accounting: string): boolean {
  return /^postgres(?:ql)?:\/\//.test(accounting);
}

/** Whether the URL contains a password, which settings and process lists would show to everyone. */
export function holdsPassword(url: string): boolean {
  return /^postgres(?:ql)?:\/\/(?:[^/?#]*:[^/?#]*@|[^?]*\?(?:.*&)?password=)/i.test(url);
}

/** The URL for messages; also works if it is malformed, as with a `/` in the password that is not encoded. */
export function withoutPassword(url: string): string {
  return url.replace(/^([^:]*:\/\/[^:@/?#]*):.*@/, '$1:...@').replace(/([?&]password=)[^&#]*/gi, '$1...');
}

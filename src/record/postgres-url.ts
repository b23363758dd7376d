/** Whether `accounting` names a PostgreSQL database, not a file. */
export function isPostgresUrl(accounting: string): boolean {
  return /^postgres(?:ql)?:\/\//.test(accounting);
}

/** Whether it has a password in it, which settings and process lists would show to everyone. */
export function holdsPassword(url: string): boolean {
  return /^postgres(?:ql)?:\/\/(?:[^/?#]*:[^/?#]*@|[^?]*\?(?:.*&)?password=)/i.test(url);
}

/** For messages; of one that is not well formed, too, as where a `/` of the password is not encoded. */
export function withoutPassword(url: string): string {
  return url.replace(/^([^:]*:\/\/[^:@/?#]*):.*@/, '$1:...@').replace(/([?&]password=)[^&#]*/gi, '$1...');
}

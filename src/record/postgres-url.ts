/** Whether `accounting` names a PostgreSQL database, not a file. */
export function isPostgresUrl(accounting: string): boolean {
  return /^postgres(?:ql)?:\/\//.test(accounting);
}

/** Whether it has a password in it, which settings and process lists would show to everyone. */
export function holdsPassword(url: string): boolean {
  return /^postgres(?:ql)?:\/\/[^/?#]*:[^/?#]*@/.test(url);
}

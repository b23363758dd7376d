/** The code of an error of Node ("ENOENT"), of SQLite or of PostgreSQL; empty: it has none. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

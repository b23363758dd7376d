/** How bad: a note is neither good nor bad, a warning costs figures, a problem costs records or jobs. */
export type Severity = 'ok' | 'note' | 'warning' | 'problem';

/** What one look at the node or the cluster found. */
export interface Finding {
  /** Heading that it stands under: program, kernel, limits, sources, state, accounting, clock, Grid Engine ... */
  readonly area: string;
  readonly name: string;
  readonly severity: Severity;
  /** The state, and for anything but ok its cause and what it means. */
  readonly says: string;
  /** What to do about it; null: nothing. */
  readonly mend: string | null;
}

type Say = (name: string, says: string, mend?: string) => Finding;

/** Makers of findings in one area. */
export function findingsIn(area: string): Readonly<Record<Severity, Say>> {
  const maker =
    (severity: Severity): Say =>
    (name, says, mend) => ({ area, name, severity, says, mend: mend ?? null });
  return { ok: maker('ok'), note: maker('note'), warning: maker('warning'), problem: maker('problem') };
}

/** One line for any error. */
export function because(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '';
}

/** The world outside of a command: where its words go and what it may ask about the place it runs in. */
export interface Terminal {
  readonly write: (text: string) => void;
  /** To the standard error output, one line. */
  readonly warn: (line: string) => void;
  /** Whether `write` goes to a terminal. */
  readonly isTTY: boolean;
  readonly columns: number | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: () => Date;
}

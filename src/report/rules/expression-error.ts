/** What is wrong with an expression, and at which character (from 0). */
export interface Problem {
  readonly problem: string;
  readonly at: number;
}

/** Thrown only within this folder: parsing and checking return its problem. */
export class ExpressionError extends Error {
  constructor(
    readonly problem: string,
    readonly at: number,
  ) {
    super(problem);
  }
}

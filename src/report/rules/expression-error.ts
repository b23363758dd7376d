/** Thrown only within this folder: parsing returns it. */
export class ExpressionError extends Error {
  /** `at`: the character where the problem is, from 0. */
  constructor(
    readonly problem: string,
    readonly at: number,
  ) {
    super(problem);
  }
}

/** A request that is not answered as asked: status and, in one line, why and what to do. */
export class HttpProblem extends Error {
  constructor(
    readonly status: number,
    detail: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(detail);
    this.name = 'HttpProblem';
  }
}

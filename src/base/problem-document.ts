import { check, integer, object, string } from './shape';

export const problemShape = object(
  { type: string, title: string, status: integer(), detail: string },
  'what was wrong, why, and what to do, in one line (RFC 9457)',
);

/** What the answer to a failed request says, in one line. */
export function problemOf({ status, json }: { readonly status: number; readonly json: unknown }): string {
  const problem = check(problemShape, json, 'its answer');
  return problem.ok ? problem.value.detail.slice(0, 1000) : `it answers with status ${status}`;
}

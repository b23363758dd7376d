/** Says a problem once, when it comes, and once that it has gone (`good`). */
export function sayChanges(log: (line: string) => void, good: string): (problem: string | null) => void {
  let last: string | null = null;
  return (problem) => {
    if (problem === last) return;
    log(problem ?? good);
    last = problem;
  };
}

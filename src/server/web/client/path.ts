interface Point {
  readonly x: number;
  readonly y: number;
}

/** The corners of an SVG path of absolute M, L, H and V commands. */
export function readPath(path: string): readonly Point[] {
  const points: Point[] = [];
  let [x, y] = [0, 0];
  for (const [, command, first = '', second = ''] of path.matchAll(/([MLHV])([\d.]+)(?: ([\d.]+))?/g)) {
    if (command === 'V') y = Number(first);
    else x = Number(first);
    if (second !== '') y = Number(second);
    points.push({ x, y });
  }
  return points;
}

/** The y of a path at `x`; null: the path begins later or ends before. */
export function heightAt(points: readonly Point[], x: number): number | null {
  const index = points.findIndex((point) => point.x >= x);
  const [before, after] = [points[index - 1], points[index]];
  if (after === undefined || (before === undefined && after.x > x)) return null;
  if (before === undefined || after.x === before.x) return after.y;
  return before.y + ((after.y - before.y) * (x - before.x)) / (after.x - before.x);
}

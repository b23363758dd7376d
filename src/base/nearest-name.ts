/** How many letters must be changed, added or removed to turn one name into the other. */
function distance(a: string, b: string): number {
  let before = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const changed = (before[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(changed, (before[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    before = row;
  }
  return before[b.length] ?? 0;
}

const LONGEST = 64;

/** The name that was probably meant; null: none is close. */
export function nearestName(name: string, known: Iterable<string>): string | null {
  if (name.length > LONGEST) return null;
  const most = Math.max(1, Math.floor(name.length / 3));
  let nearest: { readonly name: string; readonly far: number } | null = null;
  for (const one of known) {
    if (Math.abs(one.length - name.length) > most) continue;
    const far = distance(name, one);
    if (far <= most && (nearest === null || far < nearest.far)) nearest = { name: one, far };
  }
  return nearest?.name ?? null;
}

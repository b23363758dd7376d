/** More CPUs than Linux can be built for (8192): a list beyond that is garbage. */
const MOST_CPUS = 65536;

/** CPUs of a list as sysfs writes it ("0-3,8,10-11"), ascending; none for an empty text. null: not such a list. */
export function parseCpuList(text: string): readonly number[] | null {
  const trimmed = text.trim();
  if (trimmed === '') return [];
  const cpus = new Set<number>();
  for (const part of trimmed.split(',')) {
    const match = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(part);
    if (match === null) return null;
    const first = Number(match[1]);
    const last = Number(match[2] ?? match[1]);
    if (last < first || last >= MOST_CPUS) return null;
    for (let cpu = first; cpu <= last; cpu++) cpus.add(cpu);
  }
  return [...cpus].sort((a, b) => a - b);
}

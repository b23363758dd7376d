/** A resource that a job asked for, as it was typed. */
export interface CategoryRequest {
  readonly name: string;
  readonly text: string;
}

/** Longer ones are no options that Grid Engine wrote. */
const MOST_REQUESTS = 256;

/**
 * The resources in a job's category, `-U users -l h_rt=3600,h_vmem=4G -pe smp 2`: of each `-l` its `name=value` parts,
 * the first where a name comes twice. A value may hold no comma and no blank, as Grid Engine itself prints none.
 */
export function categoryRequests(category: string): readonly CategoryRequest[] {
  const requests = new Map<string, string>();
  for (const [, list = ''] of category.matchAll(/(?:^|\s)-l\s+(\S+)/g))
    for (const part of list.split(',')) {
      const equals = part.indexOf('=');
      if (equals <= 0 || requests.size >= MOST_REQUESTS) continue;
      const name = part.slice(0, equals);
      if (!requests.has(name)) requests.set(name, part.slice(equals + 1));
    }
  return [...requests].map(([name, text]) => ({ name, text }));
}

/** The name under which a host is known, for any spelling of it: `node01`, `Node01.cluster.example`. */
export type HostNames = (name: string) => string;

/**
 * Treats as one the names that Grid Engine, its tasks' ids and our own records give to a host: names that are equal but
 * for case, or that have the same first label where only one known host has it. An unknown name is known from then on.
 */
export function hostNames(known: Iterable<string>): HostNames {
  const exact = new Map<string, string>();
  const byLabel = new Map<string, string | null>();

  function learn(name: string): string {
    const folded = name.toLowerCase();
    const label = hostLabel(folded);
    exact.set(folded, name);
    byLabel.set(label, byLabel.has(label) ? null : name);
    return name;
  }

  for (const name of known) if (!exact.has(name.toLowerCase())) learn(name);
  return (name) => {
    const folded = name.toLowerCase();
    return exact.get(folded) ?? byLabel.get(hostLabel(folded)) ?? learn(name);
  };
}

/** `node01` of `Node01.cluster.example`. An address stays whole: its first part names nothing. */
export function hostLabel(name: string): string {
  const folded = name.toLowerCase();
  return /^[\d.]+$|:/.test(folded) ? folded : (folded.split('.')[0] ?? folded);
}

/** `node01` of `all.q@node01`; null: there is none. */
export function hostOfQueue(queueInstance: string | null): string | null {
  const host = queueInstance?.slice(queueInstance.indexOf('@') + 1) ?? '';
  return queueInstance?.includes('@') === true && host !== '' ? host : null;
}

/** `all.q` of `all.q@node01`. */
export function clusterQueue(queueInstance: string): string {
  return queueInstance.split('@')[0] ?? queueInstance;
}

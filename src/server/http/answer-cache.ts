import type { Body } from './body';

/** Far more than a site has routes and kinds of callers; what is above is made anew each time. */
const MOST_BYTES = 96 * 1024 ** 2;
const MOST_ENTRIES = 1000;

export interface AnswerCache {
  /** The body of this key made for this state of things; made again as soon as `of` is another object. */
  get(of: object, key: string, make: () => Body): Body;
}

/** Keeps serialised answers of the newest state, oldest out first, so that any number of callers cost one of each. */
export function newAnswerCache(): AnswerCache {
  let current: object | null = null;
  let bytes = 0;
  const bodies = new Map<string, Body>();
  const drop = (key: string, body: Body): void => {
    bodies.delete(key);
    bytes -= body.bytes.length;
  };
  return {
    get: (of, key, make) => {
      if (of !== current) {
        current = of;
        bodies.clear();
        bytes = 0;
      }
      const known = bodies.get(key);
      if (known !== undefined) return known;
      const body = make();
      bodies.set(key, body);
      bytes += body.bytes.length;
      for (const [oldKey, old] of bodies) {
        if (bytes <= MOST_BYTES && bodies.size <= MOST_ENTRIES) break;
        drop(oldKey, old);
      }
      return body;
    },
  };
}

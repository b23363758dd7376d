import { nameClass } from '../../record/name-class';
import { DIMENSIONS } from '../summary';
import type { Dimension } from '../summary';
import type { Words } from './dictionary';

/** Number of a dimension in the roll-ups; 0: all of a cluster. */
export function dimensionNumber(name: Dimension): number {
  return DIMENSIONS.indexOf(name) + 1;
}

/** The class of a job name, by its number; remembers. */
export function nameClasses(words: Words): (nameId: number) => string {
  const classes = new Map<number, string>();
  return (nameId) => {
    const known = classes.get(nameId);
    if (known !== undefined) return known;
    if (classes.size >= 50_000) classes.clear();
    const made = nameClass(words.text('job_name', nameId));
    classes.set(nameId, made);
    return made;
  };
}

import { JobClass, RAISE, type Moment, type Need } from './job-class';
import type { Prior } from './margins';

/** What is known of a class; several that have had the same runs so far have one. */
interface Knowledge {
  readonly jobClass: JobClass;
  /** How many classes have it. */
  classes: number;
}

interface Place {
  knowledge: Knowledge;
}

/** Classes of a job, narrow to wide, and what was known of each when it was submitted. */
export interface Known {
  readonly place: Place;
  readonly then: Moment;
}

/**
 * The job classes of a history; learns from ended runs, in the order in which they ended. Most narrow classes have the
 * same runs as a wider one: these are learned once.
 */
export class Predictor {
  private readonly places = new Map<string, Place>();

  /** `raise`: by how much a limit is raised that a run was stopped at. */
  constructor(
    private readonly prior: Prior,
    private readonly raise: number = RAISE,
  ) {}

  /** `classes`: names, narrow to wide. */
  known(classes: readonly string[]): readonly Known[] {
    const found = classes.map((name) => this.places.get(name));
    this.separate(found.filter((place) => place !== undefined));
    let unknown: Knowledge | null = null;
    return found.map((place, index) => {
      if (place !== undefined) return knownOf(place);
      unknown ??= { jobClass: new JobClass(this.prior, this.raise), classes: 0 };
      unknown.classes++;
      const made = { knowledge: unknown };
      this.places.set(classes[index] ?? '', made);
      return knownOf(made);
    });
  }

  /** The narrowest class that has enough runs for a request; null: none has. */
  advisable(known: readonly Known[]): JobClass | null {
    return known.find(isAdvisable)?.place.knowledge.jobClass ?? null;
  }

  /** A run has ended; `known`: what was known when it was submitted. */
  learn(known: readonly Known[], need: Need): void {
    for (const [index, { place, then }] of known.entries()) {
      const isFirst = known.findIndex((one) => one.place.knowledge === place.knowledge) === index;
      if (isFirst) place.knowledge.jobClass.learn(then, need);
    }
  }

  /** Of these and no others there will be another run. */
  private separate(places: readonly Place[]): void {
    for (const shared of new Set(places.map(({ knowledge }) => knowledge))) {
      const own = places.filter(({ knowledge }) => knowledge === shared);
      if (own.length === shared.classes) continue;
      shared.classes -= own.length;
      const knowledge = { jobClass: shared.jobClass.copy(), classes: own.length };
      for (const place of own) place.knowledge = knowledge;
    }
  }
}

const knownOf = (place: Place): Known => ({ place, then: place.knowledge.jobClass.now() });

/** Whether the class has enough runs for a request. */
export const isAdvisable = ({ place }: Known): boolean => place.knowledge.jobClass.isAdvisable;

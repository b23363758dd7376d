import { JobClass, RAISE, type Moment, type Need } from './job-class';
import type { Prior } from './margins';

/** What is known about a class; classes that have had the same runs so far share one. */
interface Knowledge {
  readonly jobClass: JobClass;
  /** How many classes share it. */
  classes: number;
}

interface Place {
  knowledge: Knowledge;
}

/** A class of a job, and what was known about the class when the job was submitted. */
export interface Known {
  readonly place: Place;
  readonly then: Moment;
}

/**
 * The job classes of a history. Learns from ended runs, in the order in which they ended. Most narrow classes have the
 * same runs as a wider one: such runs are learned once.
 */
export class Predictor {
  private readonly places = new Map<string, Place>();

  /** `raise`: the factor for a limit at which a run was stopped. */
  constructor(
    private readonly prior: Prior,
    private readonly raise: number = RAISE,
  ) {}

  /** What is known about these classes; `classes`: names, narrow to wide. */
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

  /** The narrowest class with enough runs to advise a request; null: no class has enough. */
  advisable(known: readonly Known[]): JobClass | null {
    return known.find(isAdvisable)?.place.knowledge.jobClass ?? null;
  }

  /** Learns from a run that has ended; `known`: what was known when the run was submitted. */
  learn(known: readonly Known[], need: Need): void {
    for (const [index, { place, then }] of known.entries()) {
      const isFirst = known.findIndex((one) => one.place.knowledge === place.knowledge) === index;
      if (isFirst) place.knowledge.jobClass.learn(then, need);
    }
  }

  /** Gives these classes knowledge of their own where they share it with others, which won't have the coming run. */
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

/** Whether the class has enough runs to advise a request. */
const isAdvisable = ({ place }: Known): boolean => place.knowledge.jobClass.isAdvisable;

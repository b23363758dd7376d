import { JobClass, type Moment, type Need } from './job-class';
import type { Prior } from './margins';

/** Classes of a job, narrow to wide, and what was known of each when it was submitted. */
export interface Known {
  readonly jobClass: JobClass;
  readonly then: Moment;
}

/** The job classes of a history; learns from ended runs, in the order in which they ended. */
export class Predictor {
  private readonly classes = new Map<string, JobClass>();

  constructor(private readonly prior: Prior) {}

  /** `classes`: names, narrow to wide. */
  known(classes: readonly string[]): readonly Known[] {
    return classes.map((name) => {
      const jobClass = this.classes.get(name) ?? new JobClass(this.prior);
      this.classes.set(name, jobClass);
      return { jobClass, then: jobClass.now() };
    });
  }

  /** The narrowest class that has enough runs for a request; null: none has. */
  advisable(known: readonly Known[]): JobClass | null {
    return known.find(({ jobClass }) => jobClass.isAdvisable)?.jobClass ?? null;
  }

  /** A run has ended; `known`: what was known when it was submitted. */
  learn(known: readonly Known[], need: Need): void {
    for (const { jobClass, then } of known) jobClass.learn(then, need);
  }
}

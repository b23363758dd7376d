import { endedBadly } from '../../record/job-end';
import type { JobRecord } from '../../record/record';
import { fullnessOfRun } from '../advice/fit';

/** Which tasks of an array job are wanted. */
export interface TaskChoice {
  /** Those closest to their limit, so many. */
  readonly worst?: number | undefined;
  /** Those that ended badly. */
  readonly failed?: boolean | undefined;
  /** No more than these. */
  readonly limit?: number | undefined;
}

/** Some more than are wanted are kept, so that they need not be sorted after each. */
const SPARE = 1000;

/**
 * The chosen ones of tasks that come one after the other, each the records of its latest run: with `worst` the fullest
 * first, none of which nothing is known, else in their order. Those that can't be chosen are not kept.
 */
export class ChosenTasks<Task extends readonly JobRecord[]> {
  readonly #choice: TaskChoice;
  readonly #most: number;
  #kept: { readonly task: Task; readonly full: number }[] = [];

  constructor(choice: TaskChoice) {
    this.#choice = choice;
    this.#most = Math.min(choice.worst ?? Infinity, choice.limit ?? Infinity);
  }

  add(task: Task): void {
    const { worst, failed } = this.#choice;
    if (failed === true && !task.some(endedBadly)) return;
    if (worst === undefined) {
      if (this.#kept.length < this.#most) this.#kept.push({ task, full: 0 });
      return;
    }
    const full = fullnessOfRun(task);
    if (full < 0) return;
    this.#kept.push({ task, full });
    if (this.#kept.length > this.#most + SPARE) this.#cut();
  }

  list(): readonly Task[] {
    this.#cut();
    return this.#kept.map(({ task }) => task);
  }

  /** The same tasks, each added when it is read. */
  *adding(tasks: Iterable<Task>): Iterable<Task> {
    for (const task of tasks) {
      this.add(task);
      yield task;
    }
  }

  #cut(): void {
    this.#kept = this.#kept.sort((a, b) => b.full - a.full).slice(0, this.#most);
  }
}

/** The chosen ones of these. */
export function chooseTasks<Task extends readonly JobRecord[]>(
  tasks: readonly Task[],
  choice: TaskChoice,
): readonly Task[] {
  const chosen = new ChosenTasks<Task>(choice);
  for (const task of tasks) chosen.add(task);
  return chosen.list();
}

import { endedBadly } from '../../record/job-end';
import type { JobRecord } from '../../record/record';
import { fullnessOfRun } from '../advice/fit';

/** Which tasks of an array job are wanted. */
export interface TaskChoice {
  /** At most this many tasks, those closest to their limit. */
  readonly worst?: number | undefined;
  /** Only tasks that ended badly. */
  readonly failed?: boolean | undefined;
  /** At most this many tasks. */
  readonly limit?: number | undefined;
}

/** So many more tasks than wanted are kept before the list is sorted and cut. */
const SPARE = 100;

/**
 * Chooses among tasks that arrive one by one, each as the records of its latest run. With `worst` the fullest come
 * first, and tasks without figures are left out; else tasks stay in their order. Only tasks that can still be chosen
 * are kept.
 */
export class ChosenTasks<Task extends readonly JobRecord[]> {
  private readonly choice: TaskChoice;
  private readonly most: number;
  private kept: { readonly task: Task; readonly full: number }[] = [];
  /** Tasks that are no fuller can't be chosen any more. */
  private least = -1;

  constructor(choice: TaskChoice) {
    this.choice = choice;
    this.most = Math.min(choice.worst ?? Infinity, choice.limit ?? Infinity);
  }

  add(task: Task): void {
    const { worst, failed } = this.choice;
    if (failed === true && !task.some(endedBadly)) return;
    if (worst === undefined) {
      if (this.kept.length < this.most) this.kept.push({ task, full: 0 });
      return;
    }
    const full = fullnessOfRun(task);
    if (full <= this.least) return;
    this.kept.push({ task, full });
    if (this.kept.length > this.most + SPARE) this.cut();
  }

  list(): readonly Task[] {
    this.cut();
    return this.kept.map(({ task }) => task);
  }

  /** Passes `tasks` on, and adds each when it is read. */
  *adding(tasks: Iterable<Task>): Iterable<Task> {
    for (const task of tasks) {
      this.add(task);
      yield task;
    }
  }

  private cut(): void {
    this.kept = this.kept.sort((a, b) => b.full - a.full).slice(0, this.most);
    if (this.kept.length === this.most) this.least = this.kept.at(-1)?.full ?? this.least;
  }
}

/** The tasks that `choice` selects. */
export function chooseTasks<Task extends readonly JobRecord[]>(
  tasks: readonly Task[],
  choice: TaskChoice,
): readonly Task[] {
  const chosen = new ChosenTasks<Task>(choice);
  for (const task of tasks) chosen.add(task);
  return chosen.list();
}

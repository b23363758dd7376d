import type { OnlineUsage } from '../gridengine/online-usage';
import type { JobDetail, PeTaskDetail, TaskDetail } from '../gridengine/qstat/job-detail';

/** `1.node01` runs on node01. */
function hostOf(peTask: string): string | null {
  const dot = peTask.indexOf('.');
  return dot === -1 || dot === peTask.length - 1 ? null : peTask.slice(dot + 1);
}

function withPart(task: TaskDetail, { peTask, usage }: OnlineUsage): TaskDetail {
  if (peTask === null) return { ...task, usage };
  const known = task.peTasks.some(({ id }) => id === peTask);
  const peTasks: readonly PeTaskDetail[] = known
    ? task.peTasks.map((part) => (part.id === peTask ? { ...part, usage } : part))
    : [...task.peTasks, { id: peTask, host: hostOf(peTask), past: false, usage }];
  return { ...task, peTasks };
}

/**
 * The detail of a job that runs with the usage that its execution hosts have reported since. Tasks that the detail does
 * not know are added: they have begun since.
 */
export function withOnlineUsage(detail: JobDetail, usages: readonly OnlineUsage[]): JobDetail {
  const tasks = new Map(detail.tasks.map((task) => [task.task, task]));
  for (const usage of usages) {
    // qstat gives the one task of a job that is no array the number 1, the reporting file 0.
    const number = usage.task === 0 ? 1 : usage.task;
    const task = tasks.get(number) ?? { task: number, status: null, startedAt: null, usage: new Map(), peTasks: [] };
    tasks.set(number, withPart(task, usage));
  }
  return { ...detail, tasks: [...tasks.values()] };
}

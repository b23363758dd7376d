import { isUnavailable, type Unavailable } from '../source';
import { parseTaskDelays, taskDelaysPayload, type TaskDelays } from './exit-records';
import { noTaskstats } from './kernel-events';
import { openTaskstats } from './taskstats-socket';

interface TaskDelaysReader {
  /** Totals over a process's threads, ended ones included (those only if it ever had several); null: it is gone. */
  readonly process: (pid: number) => TaskDelays | null;
  /** Of one thread. */
  readonly thread: (tid: number) => TaskDelays | null;
  readonly close: () => void;
}

/** Small: one answer at a time. */
const RECEIVE_BYTES = 64 * 1024;

/** Asks taskstats for living tasks (needs CAP_NET_ADMIN; works in every network namespace). */
export function openTaskDelays(): TaskDelaysReader | Unavailable {
  try {
    const { socket, isTaskstats, ask } = openTaskstats(RECEIVE_BYTES);
    const read = (of: 'process' | 'thread', id: number): TaskDelays | null => {
      const answer: { delays: TaskDelays | null } = { delays: null };
      try {
        ask(taskDelaysPayload(of, id), false, (buffer, offset, length) => {
          if (isTaskstats(buffer, offset)) answer.delays = parseTaskDelays(buffer, offset, length);
        });
      } catch {
        return null;
      }
      return answer.delays;
    };
    const reader = { process: (pid: number) => read('process', pid), thread: (tid: number) => read('thread', tid) };
    // The right is only asked for with a request.
    try {
      ask(taskDelaysPayload('process', process.pid), false, () => undefined);
    } catch (error) {
      socket.close();
      return noTaskstats(error);
    }
    return { ...reader, close: socket.close };
  } catch (error) {
    return noTaskstats(error);
  }
}

/** One process's delay totals; null: it is gone, or they can't be had. For a repeated question open a reader. */
export function readTaskDelays(pid: number): TaskDelays | null {
  const reader = openTaskDelays();
  if (isUnavailable(reader)) return null;
  const delays = reader.process(pid);
  reader.close();
  return delays;
}

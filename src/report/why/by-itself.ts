import { AFTER_SIGNAL } from '../../gridengine/failed-code';
import { formatBytes } from '../format/units';
import { endedBy, endName, endTime, type BadEnd, CRASHES, SIGSEGV, SIGXFSZ } from './bad-end';
import { judge, type Hypothesis } from './hypothesis';
import { closeToRefusal, usedShare } from './memory';
import type { Words } from './words';

/** A program error. */
export function crash(end: BadEnd, words: Words): Hypothesis {
  const judged = judge('crash', 'a crash of the program');
  if (!CRASHES.has(end.signal)) return judged.otherwise(`it ended ${endedBy(end)}`);
  if (end.failed !== null && end.failed !== 0 && end.failed !== AFTER_SIGNAL)
    return judged.otherwise(`Grid Engine says failed ${end.failed}`);
  const stack = end.subject.requests.h_stack?.limit_bytes ?? end.subject.requests.s_stack?.limit_bytes ?? null;
  const outgrown =
    end.signal === SIGSEGV && stack !== null
      ? `; a stack that outgrows its ${formatBytes(stack)} ends the same way`
      : '';
  const when = `${endName(end)}${endTime(end, words)}`;
  return closeToRefusal(end)
    ? judged.consistent(1, `${when}${outgrown}`, "the program's own messages, or a core file")
    : judged.consistent(2, `${when}${usedShare(end)}${outgrown}`);
}

/** The program, or its script, said that it failed. */
export function ownError(end: BadEnd): Hypothesis {
  const judged = judge('own-error', 'a failure of the job itself');
  if (end.signal !== 0) return judged.otherwise(`it ended ${endedBy(end)}`);
  if (end.failed !== null && end.failed !== 0) return judged.otherwise(`Grid Engine says failed ${end.failed}`);
  if (end.status === null || end.status === 0) return judged.otherwise('no exit status says so');
  const meaning = STATUSES[end.status] === undefined ? '' : ` (${STATUSES[end.status] ?? ''})`;
  return closeToRefusal(end)
    ? judged.consistent(1, `it ended by itself with exit status ${end.status}${meaning}`, "the job's own output")
    : judged.consistent(2, `it ended by itself with exit status ${end.status}${meaning}${usedShare(end)}`);
}

/** What a shell reports by these exit statuses. */
const STATUSES: Readonly<Record<number, string>> = {
  126: 'a shell found a command that it may not run',
  127: 'a shell did not find a command',
};

/** A file larger than h_fsize (s_fsize) allows. */
export function fileSize(end: BadEnd): Hypothesis {
  const judged = judge('file-size', 'a file that outgrew h_fsize');
  if (end.signal !== SIGXFSZ) return judged.otherwise(`it ended ${endedBy(end)}, h_fsize sends SIGXFSZ`);
  const asked = end.asked?.find(({ name }) => name === 'h_fsize' || name === 's_fsize');
  return judged.consistent(
    2,
    asked === undefined
      ? 'SIGXFSZ is sent for nothing else'
      : 'SIGXFSZ is sent for nothing else, and it requested h_fsize',
  );
}

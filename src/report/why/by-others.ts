import { DIALECT_FACTS } from '../../gridengine/dialect';
import { AFTER_SIGNAL } from '../../gridengine/failed-code';
import { deletedByForce } from '../../record/job-end';
import {
  endedBy,
  endTime,
  type BadEnd,
  CRASHES,
  limitSays,
  missingLine,
  SIGKILL,
  SIGUSR1,
  SIGUSR2,
  SIGXCPU,
  SIGXFSZ,
} from './bad-end';
import { judge, type Hypothesis } from './hypothesis';
import { usedShare } from './memory';
import type { Words } from './words';

/**
 * A job that is deleted before it starts, or in its prolog, has no start in Grid Engine's accounting, and no signal.
 */
const endedBeforeStart = ({ failed, signal, subject }: BadEnd): boolean =>
  failed === AFTER_SIGNAL && signal === 0 && subject.started_at === null;

/** What else leaves the same trace where the category says `-I y`: Grid Engine kills such a job when its client dies. */
const orClient = ({ master }: BadEnd): string =>
  /(?:^|\s)-I y(?!\S)/.test(master.grid_engine?.category ?? '') ? ', or one whose qrsh or qlogin died' : '';

/** qdel: SIGKILL to all processes, after SIGUSR2 where the job asked for a notice. */
export function deleted(end: BadEnd, words: Words): Hypothesis {
  const judged = judge('deleted', 'qdel');
  if (end.deletedBy !== null)
    return judged.consistent(3, `Grid Engine says that ${words.safe(end.deletedBy)} deleted it`);
  if (deletedByForce(end.subject))
    return judged.consistent(
      2,
      "Grid Engine's line has its times and no usage, as after a forced deletion (qdel -f)",
      "qmaster's messages file",
    );
  if (endedBeforeStart(end))
    return judged.consistent(
      2,
      `Grid Engine says failed ${AFTER_SIGNAL}, and records no start`,
      "qmaster's messages file",
    );
  if (end.signal !== SIGKILL && end.signal !== SIGUSR2)
    return judged.otherwise(`it ended ${endedBy(end)}, qdel sends SIGKILL`);
  const limit = limitSays(end);
  if (limit !== null) return judged.contradicted(limit);
  if (DIALECT_FACTS[end.dialect].namesWhoDeletes && end.failed !== null && !end.hidden)
    return judged.contradicted('Grid Engine says who deletes a job, and names nobody');
  if (end.direct === false && end.signal === SIGKILL)
    return judged.contradicted(
      'the shell of the job survived the SIGKILL and reported it: qdel kills all processes of a job',
    );
  if (end.failed === null) return judged.undecidable('Grid Engine has not reported it yet', missingLine(end));
  if (end.failed !== AFTER_SIGNAL && end.signal === SIGKILL)
    return judged.contradicted(`Grid Engine says failed ${end.failed}, not ${AFTER_SIGNAL}`);
  return judged.consistent(
    1,
    end.signal === SIGUSR2
      ? `SIGUSR2 came${endTime(end, words)}, the notice before the kill (qsub -notify)`
      : `SIGKILL came${endTime(end, words)}, and Grid Engine says failed ${AFTER_SIGNAL}, as for a deleted job${orClient(end)}${usedShare(end)}`,
    "qmaster's messages file",
  );
}

/** The notice before a suspension, which ends a job that does not expect it. */
export function suspended(end: BadEnd, words: Words): Hypothesis {
  const judged = judge('suspended', 'the notice of a suspension');
  if (end.signal !== SIGUSR1) return judged.otherwise(`it ended ${endedBy(end)}, a suspension announces SIGUSR1`);
  return judged.consistent(
    1,
    `SIGUSR1 came${endTime(end, words)}, as before a job of qsub -notify is suspended`,
    "the job's qsub options",
  );
}

/** The host, its execd or the job's shepherd died. */
export function nodeLost(end: BadEnd, words: Words): Hypothesis {
  const judged = judge('node-lost', 'the loss of the node or of its shepherd');
  const on = ` on ${words.safe(end.subject.host)}`;
  if (end.failed === 19)
    return judged.consistent(3, `Grid Engine says failed 19: the shepherd${on} left no exit status`);
  if (end.failed === 18) return judged.consistent(3, `Grid Engine says failed 18: the shepherd${on} died`);
  if (end.failed === 20 || end.failed === 21)
    return judged.consistent(3, `Grid Engine says failed ${end.failed}: the shepherd or execd${on} lost the job`);
  if (endedBeforeStart(end)) return judged.otherwise('it had not started');
  if (end.failed === AFTER_SIGNAL && end.signal === 0)
    return judged.consistent(
      1,
      `Grid Engine says failed ${AFTER_SIGNAL}, and knows of no signal`,
      `execd's messages file${on}`,
    );
  const lost = end.subject.status === 'lost';
  if (!lost) return judged.otherwise('its end was reported');
  return end.failed === null || end.failed === AFTER_SIGNAL
    ? judged.consistent(
        1,
        `the sampler${on} was lost before the job ended`,
        missingLine(end) ?? `execd's messages file${on}`,
      )
    : judged.otherwise(`Grid Engine says failed ${end.failed}`);
}

/** Signals (0: none) that other causes explain; any other was sent by somebody. */
const EXPLAINED: ReadonlySet<number> = new Set([0, SIGXCPU, SIGXFSZ, ...CRASHES]);

/** Somebody, or a program, sent a signal. */
export function signalled(end: BadEnd): Hypothesis {
  const judged = judge('signalled', 'a signal from the job itself, its owner or root');
  if (EXPLAINED.has(end.signal)) return judged.otherwise(`it ended ${endedBy(end)}`);
  const limit = limitSays(end);
  if (limit !== null) return judged.contradicted(limit);
  if (end.signal === SIGKILL && end.direct === false)
    return judged.consistent(1, 'a process of the job was killed and its shell was not', "the job's own output");
  if (end.signal === SIGKILL)
    return judged.undecidable('the sender of a SIGKILL is not recorded', "the job's own output");
  // Grid Engine's notices, too (qsub -notify).
  if (end.signal === SIGUSR1 || end.signal === SIGUSR2) return judged.consistent(1, `it ended ${endedBy(end)}`);
  return judged.consistent(
    1,
    `it ended ${endedBy(end)}, which Grid Engine sends only by a method of the queue, a checkpointing environment, NOTIFY_KILL or NOTIFY_SUSP`,
  );
}

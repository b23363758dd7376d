import type { ClientName } from './find-client';
import type { AnswerEnd } from './reading';

/** How a run of a client went. */
export interface ClientEnding {
  readonly end: AnswerEnd;
  /** null: it was ended by a signal, or never ran. */
  readonly status: number | null;
  readonly signal: string | null;
  /** What the client said on stderr, or the beginning of it. */
  readonly stderr: string;
  /** Why we ended it, if we did. */
  readonly stopped: 'time' | 'size' | 'caller' | null;
  readonly timeoutMs: number;
}

/** Cause and fix of what Grid Engine's clients say, as found in 6.2 to 8.1.9 and Open Cluster Scheduler. */
const KNOWN: readonly (readonly [RegExp, cause: string, fix: string])[] = [
  [
    /neither submit nor admin host/i,
    'Grid Engine denies this host',
    'ask on a submit host, or as a manager: qconf -as HOST',
  ],
  [
    /access denied|not identical to clients? host name|can't resolve (?:the )?host ?name/i,
    "Grid Engine's names of hosts do not agree with this host's",
    'fix /etc/hosts, DNS or host_aliases',
  ],
  [
    /SGE_ROOT|SGE_CELL|cell directory .* doesn't exist|act_qmaster/,
    'the cell is not found',
    'set SGE_ROOT and SGE_CELL, or look whether their file system is mounted',
  ],
  [
    /commlib error|unable to (?:send message to|contact|connect to) qmaster|qmaster .*not (?:running|reachable)|got (?:select|send|read) error|connection (?:refused|timed? ?out|reset)|can't connect|gdi.*(?:error|failed)/i,
    'qmaster does not answer',
    'look whether sge_qmaster runs on the host that SGE_ROOT/SGE_CELL/common/act_qmaster names',
  ],
  [/denied|permission|not allowed/i, 'Grid Engine denies the query', 'ask a manager of this cluster'],
];

const MOST_CHARACTERS = 200;

/** One short line of text without control characters. */
function oneLine(text: string): string {
  const plain = text
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .replace(/^(?:critical |error: )*error: */i, '');
  return plain.length > MOST_CHARACTERS ? `${plain.slice(0, MOST_CHARACTERS)} ...` : plain;
}

function explained(client: ClientName, said: string): string {
  const line = oneLine(said);
  const [, cause, fix] = KNOWN.find(([pattern]) => pattern.test(said)) ?? [];
  if (cause === undefined || fix === undefined) return `${client} says: ${line}; try it by hand`;
  return `${cause} (${client}: ${line}); ${fix}`;
}

/** The problem of a client that was ended after so many seconds. */
export function timeoutProblem(client: ClientName, seconds: number): string {
  return `${client} did not answer within ${seconds} s and was ended; look whether qmaster is overloaded or its host is down`;
}

function howItEnded({ status, signal }: ClientEnding): string {
  return signal === null ? `exit status ${status ?? 'unknown'}` : `ended by ${signal}`;
}

/**
 * Why the answer can't be used, in one line with cause and fix; null: it can. The exit status alone says nothing: there
 * are errors with status 0, and whole answers with warnings and status 1.
 */
export function clientProblem(client: ClientName, ending: ClientEnding): string | null {
  const { end, stderr, stopped } = ending;
  if (stopped === 'caller') return `${client} was stopped before it had answered`;
  if (stopped === 'time') return `${timeoutProblem(client, ending.timeoutMs / 1000)}, or raise command_timeout`;
  if (stopped === 'size') return `${client} printed too much for an answer and was ended; try it by hand`;
  const said = end.said ?? stderr;
  switch (end.state) {
    case 'complete':
      return null;
    case 'refused':
      // Grid Engine knows none of these jobs: all of them have ended, which is an answer.
      if (end.unknownJobs.length > 0) return null;
      return said === '' ? `${client} was refused without a reason` : explained(client, said);
    case 'truncated':
      return `the answer of ${client} ends in the middle (${howItEnded(ending)}${stderr === '' ? '' : `, ${oneLine(stderr)}`}); it is asked again`;
    case 'empty':
      if (oneLine(stderr) !== '') return explained(client, stderr);
      return `${client} said nothing (${howItEnded(ending)}); try it by hand with -xml`;
    case 'foreign': {
      const words = [end.said ?? '', stderr].find((text) => KNOWN.some(([pattern]) => pattern.test(text)));
      if (words !== undefined) return explained(client, words);
      const line = oneLine(said);
      return `${client} printed no XML (${howItEnded(ending)}${line === '' ? '' : `, ${line}`}); look whether it is Grid Engine's`;
    }
  }
}

/** Whether a problem means that qmaster can't be reached at all: it would answer the next query as it did this one. */
export function isUnreachable({ end, stderr, stopped }: ClientEnding): boolean {
  if (stopped !== null) return stopped === 'time';
  if (end.state === 'empty' || end.state === 'refused') return true;
  return end.state === 'foreign' && KNOWN.some(([pattern]) => pattern.test(`${end.said ?? ''} ${stderr}`));
}

/** Why a client could not be started, with its fix; `code` is the system's error code (`ENOENT`). */
export function startProblem(client: ClientName, file: string | null, code: string | undefined): string {
  if (file === null || code === 'ENOENT')
    return `${client} is not found; put Grid Engine's commands into PATH or set SGE_ROOT`;
  if (code === 'EACCES' || code === 'ENOEXEC') return `${file} can't be executed; fix its permission or its type`;
  if (code === 'EAGAIN' || code === 'ENOMEM' || code === 'EMFILE' || code === 'ENFILE')
    return `${file} could not be started (${code}); this host or user has too many processes or open files`;
  return `${file} could not be started (${code ?? 'unknown reason'})`;
}

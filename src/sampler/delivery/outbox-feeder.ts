import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Ownership } from '../../base/set-owner';
import { localAccounts } from '../../base/user-name';
import { DeliveryLock } from './delivery-lock';
import type { Destination } from './destination';
import { ownStatus } from './node-status';
import { warn } from '../../base/log';
import { monotonicMs } from '../../base/monotonic';
import type { NodeStore, OutboxRow } from '../node-store/node-store';
import { UserError, reasonOf } from '../../base/user-error';
import { inheritedFlags } from '../../base/node-flags';
import { boolean, checkJson, integer, nullable, object, optional, string, type ValueOf } from '../../base/shape';
import { PROGRAM_ENVIRONMENT, programPath } from '../../base/programs';
import type { NodeStatus } from '../../record/node-status';
import type { JobRecord } from '../../record/record';
import type { Settings } from '../../record/settings';

/** Rows handed to one deliverer process. */
const BATCH = 500;
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 60_000;

interface DeliveryOutcome {
  readonly delivered: number;
  readonly refused: number;
  readonly left: number;
  /** Why rows are left; null when none are. */
  readonly problem: string | null;
}

/** User that the deliverer becomes; null: no change (we are not root, or it stays root). Throws for an unknown user. */
export function delivererIdentity(name: string): Ownership | null {
  if (process.getuid?.() !== 0 || name === 'root') return null;
  const wanted = name === '' ? 'nobody' : name;
  const account = localAccounts().find(([user]) => user === wanted);
  if (account !== undefined) return { uid: Number(account[2]), gid: Number(account[3]) };
  throw new UserError(`deliver_as = "${wanted}": no such user in /etc/passwd`, {
    hint: 'set deliver_as to a local system account',
  });
}

/** The deliverer's answer about one row (accounting/deliverer.ts). */
const answerShape = object({
  /** null: a row that it could not read. */
  id: nullable(integer(0)),
  ok: boolean,
  error: optional(string),
  retry: optional(boolean),
});
type Answer = ValueOf<typeof answerShape> & { readonly id: number };

const reasonIn = ({ error }: Pick<Answer, 'error'>): string => error ?? 'the deliverer gave no reason';

/**
 * Hands rows of the outbox, then the host's status, to a deliverer process and books its answers. Resolves to what
 * stopped it, or null. Rejects if the configuration can't be used.
 */
async function deliverOnce(
  rows: readonly OutboxRow[],
  destination: () => Destination,
  patienceSeconds: number,
  book: (answer: Answer) => void,
  status: NodeStatus | null = null,
): Promise<string | null> {
  const { accounting, accounting_mode, accounting_credentials, deliver_as } = destination();
  const identity = delivererIdentity(deliver_as);
  const script = programPath('accounting/deliverer');
  const options = ['--accounting', accounting, '--mode', accounting_mode, '--patience', String(patienceSeconds)];
  if (accounting_credentials !== '') options.push('--credentials', accounting_credentials);
  if (identity === null) options.push('--allow-root');
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [...inheritedFlags(), script, ...options], {
      cwd: '/',
      env: PROGRAM_ENVIRONMENT,
      stdio: ['pipe', 'pipe', 'pipe'],
      ...(identity ?? {}),
    });
    let complaint = '';
    const answered = new Set<number>();
    let unread: string | null = null;
    const take = ({ id, ...answer }: ValueOf<typeof answerShape>): void => {
      if (id === null) {
        unread = reasonIn(answer);
        return;
      }
      answered.add(id);
      book({ id, ...answer });
    };
    child.on('error', (error) => {
      resolve(`the deliverer could not be started: ${reasonOf(error)}`);
    });
    child.stdin.on('error', () => undefined);
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      complaint = (complaint + text).slice(-2000);
    });
    let rest = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const answer = checkJson(answerShape, line, 'the answer');
        if (answer.ok) take(answer.value);
        else complaint = `unreadable answer of the deliverer (${answer.error}): ${line.slice(0, 200)}`;
      }
    });
    child.on('close', (code) => {
      // With status 0 every row has been answered: those without an answer of their own could not be read.
      if (code === 0 && unread !== null)
        for (const { id } of rows) if (!answered.has(id)) book({ id, ok: false, error: unread, retry: false });
      const last = complaint.trim().split('\n').pop() ?? '';
      resolve(code === 0 ? null : last || `the deliverer ended with status ${code ?? 'none'}`);
    });
    const lines = rows.map((row) => `{"id":${row.id},"record":${row.record}}\n`);
    if (status !== null) lines.push(`${JSON.stringify({ node: status })}\n`);
    child.stdin.end(lines.join(''));
  });
}

/**
 * Delivers the outbox of this node to the accounting DB: one process per node at a time (lock), in batches, with
 * growing pauses while the DB is dead, for at most `patienceSeconds`. What could not be delivered stays in the outbox.
 * `destination` is asked before each batch; where it throws, the batch waits as for a dead DB.
 */
export async function deliverOutbox(
  store: NodeStore,
  settings: Settings,
  patienceSeconds: number,
  destination: () => Destination = () => settings,
): Promise<DeliveryOutcome> {
  let delivered = 0;
  let refused = 0;
  let problem: string | null = null;
  const deadline = monotonicMs() + patienceSeconds * 1000;
  while (store.outbox(1).length > 0) {
    const lock = DeliveryLock.take(settings.state_dir);
    if (lock === null) break;
    try {
      if (delivered === 0) await sleep(Math.random() * settings.delivery_jitter_ms);
      let pause = FIRST_PAUSE_MS;
      for (let rows = store.outbox(BATCH); rows.length > 0; rows = store.outbox(BATCH)) {
        const done: number[] = [];
        const setBack: string[] = [];
        const faulty: Answer[] = [];
        const book = (answer: Answer): void => {
          if (answer.ok) done.push(answer.id);
          else if (answer.retry) setBack.push(reasonIn(answer));
          else faulty.push(answer);
        };
        const status = ownStatus(store, settings, rows.at(-1)?.id);
        const ended = await deliverOnce(rows, destination, Math.min(10, patienceSeconds), book, status).catch(
          (error: unknown) => reasonOf(error),
        );
        store.delivered(done);
        delivered += done.length;
        for (const answer of faulty) {
          store.refuse(answer.id, reasonIn(answer));
          refused++;
          warn(`a record was refused by the accounting DB: ${reasonIn(answer)}`);
        }
        problem = ended ?? setBack[0] ?? null;
        if (problem === null && done.length === 0 && faulty.length === 0) problem = 'the deliverer answered nothing';
        lock.noteProblem(problem);
        if (problem === null) {
          pause = FIRST_PAUSE_MS;
          continue;
        }
        if (monotonicMs() + pause > deadline)
          return { delivered, refused, left: store.outboxState(0).waiting, problem };
        await lock.pause(pause * (0.5 + Math.random()));
        pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
      }
    } finally {
      lock.release();
    }
    // The loop's condition finds rows that came between the last read and the release of the lock.
  }
  return { delivered, refused, left: store.outboxState(0).waiting, problem };
}

/**
 * Delivers records and the host's status as one batch, once and without retries; what fails is not kept. Resolves to
 * the problem, or null when everything is committed. Never rejects.
 */
export async function deliverRecords(
  records: readonly string[],
  destination: () => Destination,
  status: NodeStatus | null = null,
): Promise<string | null> {
  let answered = 0;
  let refusal: string | null = null;
  const rows = records.map((record, id) => ({ id, record }));
  const book = (answer: Answer): void => {
    answered++;
    if (!answer.ok) refusal ??= reasonIn(answer);
  };
  const problem = await deliverOnce(rows, destination, 0, book, status).catch((error: unknown) => reasonOf(error));
  return problem ?? refusal ?? (answered < records.length ? 'the deliverer did not answer every record' : null);
}

/** Delivers one record when node.db can't be written. Resolves to the problem; null: committed, or refused for good. */
export async function deliverRecord(record: JobRecord, destination: () => Destination): Promise<string | null> {
  let committed = false as boolean;
  const problem = await deliverOnce([{ id: 0, record: JSON.stringify(record) }], destination, 10, (answer) => {
    committed = answer.ok || !answer.retry;
  }).catch((error: unknown) => reasonOf(error));
  return committed ? null : (problem ?? 'no answer');
}

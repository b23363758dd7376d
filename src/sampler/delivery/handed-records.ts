import { DAY_MS, MIB } from '../../base/units';
import { integer, list, object, string, type ValueOf } from '../../base/shape';
import { join } from 'node:path';
import { clearLeftovers, outboxPaths, pathsByUser, readHanded, removeHanded } from './handed-files';
import { asHanded, hereAndNow, parseHanded, whyRefused, type Here } from './handed-rules';
import type { HandedRecord, NodeStore } from '../node-store/node-store';
import { userName } from '../../base/user-name';
import type { Settings } from '../../record/settings';

/** Bounds of one pass, and of what one user can hand in on a day (UTC). */
export const HANDED_LIMITS = {
  /** Files looked at. */
  files: 10_000,
  ms: 2000,
  recordsPerDay: 5000,
  bytesPerDay: 32 * MIB,
};
export type HandedLimits = Readonly<typeof HANDED_LIMITS>;

export const handedPass = object({
  taken: integer(0),
  /** What was removed, and why: a line for each user. */
  problems: list(string),
});
export type HandedPass = ValueOf<typeof handedPass>;

interface Accepted extends HandedRecord {
  readonly path: Buffer;
}

/** The files of one user, as a pass goes through them. */
class UserPass {
  readonly accepted: Accepted[] = [];
  private removed = 0;
  private reason = '';
  private records: number;
  private bytes: number;
  private owner: string | null = null;

  constructor(
    readonly uid: number,
    private readonly settings: Settings,
    private readonly here: Here,
    before: { readonly records: number; readonly bytes: number },
    private readonly limits: HandedLimits,
  ) {
    this.records = before.records;
    this.bytes = before.bytes;
  }

  look(path: Buffer): void {
    const record = this.recordIn(path);
    if (typeof record === 'string') {
      this.reason ||= record;
      this.removed++;
      removeHanded(path);
      return;
    }
    this.records++;
    this.bytes += Buffer.byteLength(record.record);
    this.accepted.push(record);
  }

  /** null: nothing was removed. */
  problem(outbox: string): string | null {
    if (this.removed === 0) return null;
    return `${outbox}: ${this.removed} of the files of uid ${this.uid} removed: ${this.reason}`;
  }

  private recordIn(path: Buffer): Accepted | string {
    const { recordsPerDay, bytesPerDay } = this.limits;
    if (this.records >= recordsPerDay || this.bytes >= bytesPerDay)
      return `more than ${recordsPerDay} records or ${bytesPerDay / MIB} MiB in a day`;
    const file = readHanded(path);
    if (typeof file === 'string') return file;
    if (file.uid !== this.uid) return 'changed hands';
    const record = parseHanded(file.text, this.settings, this.here.nowMs);
    if (typeof record === 'string') return record;
    // Asked only now: the name service may be slow.
    this.owner ??= userName(this.uid);
    // In a container no user may have a name.
    const isKnown = this.owner !== String(this.uid) || this.uid === process.getuid?.();
    if (!isKnown) return 'of a user whom this host does not know';
    const refusal = whyRefused(record, { owner: this.owner, changedMs: file.changedMs }, this.here);
    return (
      refusal ?? {
        path,
        uid: this.uid,
        record: JSON.stringify(asHanded(record, { owner: this.owner, uid: this.uid, here: this.here.host })),
      }
    );
  }
}

/** One item of each list in turn, until none is left: no user waits behind another's thousands of files. */
function* inTurn<T, U>(lists: readonly (readonly [T, readonly U[]])[]): Generator<readonly [T, U]> {
  let left = lists;
  for (let at = 0; left.length > 0; at++) {
    left = left.filter(([, items]) => at < items.length);
    for (const [of, items] of left) yield [of, items[at] as U];
  }
}

/**
 * Takes in the records that hooks without privilege left in `STATE/outbox`, as reports of their owners only: a limited
 * number at a time, in one transaction. A file without an acceptable record is removed; the rest waits for the next
 * pass. Throws if the outbox or node.db can't be used: then no file with an accepted record is removed.
 */
export function takeHandedRecords(
  settings: Settings,
  store: NodeStore,
  limits: HandedLimits = HANDED_LIMITS,
  now: () => number = Date.now,
): HandedPass {
  const outbox = join(settings.state_dir, 'outbox');
  const nowMs = now();
  const within = (ms: number) => (): boolean => now() - nowMs < ms;
  const goOn = within(limits.ms);
  // However many there are, half of the time is left to look at some of them.
  const { files, leftovers } = outboxPaths(outbox, limits.files, within(limits.ms / 2));
  clearLeftovers(leftovers, nowMs);
  const here = hereAndNow(settings, store, nowMs);
  const day = Math.floor(nowMs / DAY_MS);
  const users = [...pathsByUser(files, goOn)].map(
    ([uid, paths]) => [new UserPass(uid, settings, here, store.handed(uid, day), limits), paths] as const,
  );
  for (const [user, path] of inTurn(users)) {
    user.look(path);
    if (!goOn()) break;
  }
  const accepted = users.flatMap(([user]) => user.accepted);
  if (accepted.length > 0) store.takeHanded(accepted, day);
  for (const { path } of accepted) removeHanded(path);
  return { taken: accepted.length, problems: users.flatMap(([user]) => user.problem(outbox) ?? []) };
}

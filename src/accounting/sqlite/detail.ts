import type {
  Bracket,
  GrantedSlots,
  GridEngineAccount,
  JobRecord,
  MemoryRequest,
  SamplerCost,
} from '../../sampler/record';
import { MERGED_FIELDS, METRIC_PREFIX, REQUEST_PREFIX } from '../merge';
import type { Slot, Stamp, StoredRecord } from '../merge';
import { BRACKET_SOURCES, OPEN_REASONS, TRUSTS } from '../../sampler/parse-record';
import { createByteReader, createByteWriter } from './byte-codec';
import type { ByteReader, ByteWriter } from './byte-codec';
import type { Words } from './dictionary';
import { joinNote, splitNote } from './note-codec';
import { DamagedRecord } from './damaged-record';

/**
 * `record.detail`, form 4: what the other columns do not hold, in the order of the code below. A change of this order
 * is a new form; `readDetail` keeps reading the old ones. Form 1 is the same without metrics, form 2 without granted
 * hosts, form 3 without Grid Engine's account and with every counter.
 */
const FORM = 4;
const OLDEST_FORM = 1;

export const PEAKS = ['peak_rss', 'peak_rss_swap', 'peak_vmem', 'peak_process_vmem', 'peak_footprint'] as const;
export const COUNTERS = [
  'processes',
  'max_processes',
  'max_threads',
  'read_bytes',
  'written_bytes',
  'read_chars',
  'written_chars',
  'claimed_by_tree_only',
  'claimed_by_group_only',
  'samples',
  'interval_seconds',
  'longest_gap_seconds',
  'unobserved_start_seconds',
] as const;

/** What the columns beside the blob say: the blob is written relative to it. */
export type Columns = Pick<
  JobRecord,
  'host_slots' | 'started_at' | 'status' | 'revision' | 'wallclock_seconds' | 'cpu_seconds'
> & { readonly h_vmem_limit: number | null; readonly peak_rss_lower: number | null };

export type Detail = Pick<
  JobRecord,
  | 'h_vmem'
  | 'requests'
  | 'granted_hosts'
  | 'grid_engine'
  | (typeof PEAKS)[number]
  | (typeof COUNTERS)[number]
  | 'wallclock_seconds'
  | 'cpu_seconds'
  | 'cpu_efficiency'
  | 'memory_efficiency'
  | 'sampler'
  | 'metrics'
  | 'notes'
> &
  Pick<StoredRecord, 'ended' | 'provenance'>;

export const DETAIL_FORM = FORM;

export const FLAG = {
  derivedCpuEfficiency: 1,
  derivedMemoryEfficiency: 1 << 1,
  hVmem: 1 << 2,
  requests: 1 << 3,
  sampler: 1 << 4,
  smallSampler: 1 << 5,
  notes: 1 << 6,
  provenance: 1 << 7,
  exactWallclock: 1 << 8,
  exactCpu: 1 << 9,
  /** The record's own stamp is of a running job, though its status is not, or the reverse. */
  otherEnd: 1 << 10,
  metrics: 1 << 11,
  grantedHosts: 1 << 12,
  gridEngine: 1 << 13,
} as const;

/** Seconds as whole ms where that loses nothing; else the nearest real number, with the exact one in the blob. */
export function wholeMs(seconds: number): number | null {
  const ms = Math.round(seconds * 1000);
  return ms / 1000 === seconds ? ms : null;
}

function cpuEfficiency(columns: Columns, cpu: number | null, wallclock: number | null): number | null {
  return cpu === null || wallclock === null || columns.host_slots === null
    ? null
    : cpu / (wallclock * columns.host_slots);
}

function memoryEfficiency(columns: Columns): number | null {
  return columns.peak_rss_lower === null || columns.h_vmem_limit === null
    ? null
    : columns.peak_rss_lower / columns.h_vmem_limit;
}

/** Members of a vocabulary as a bit mask; in an unusual order, or given twice, one by one. */
function writeSet<T>(writer: ByteWriter, items: readonly T[], vocabulary: readonly T[]): void {
  const indexes = items.map((item) => vocabulary.indexOf(item));
  const ascending = indexes.every((index, position) => position === 0 || index > (indexes[position - 1] ?? index));
  if (ascending) writer.unsigned(indexes.reduce((mask, index) => mask + 2 ** index, 0) * 2);
  else [items.length * 2 + 1, ...indexes].forEach((value) => writer.unsigned(value));
}

function readSet<T>(reader: ByteReader, vocabulary: readonly T[]): readonly T[] {
  const code = reader.unsigned();
  if (code % 2 === 0) return vocabulary.filter((_item, index) => Math.floor(code / 2 / 2 ** index) % 2 === 1);
  return Array.from({ length: (code - 1) / 2 }, () => member(vocabulary, reader.unsigned()));
}

function member<T>(vocabulary: readonly T[], index: number): T {
  const item = vocabulary[index];
  if (item === undefined) throw new DamagedRecord(`has the unknown code ${index}`);
  return item;
}

export const REQUEST = { absent: 0, isLimit: 1, isLimitPerSlot: 2, other: 3 } as const;

export function writeRequest(writer: ByteWriter, request: MemoryRequest, slots: number | null): void {
  const { request_bytes, limit_bytes, per } = request;
  const code =
    request_bytes === null
      ? REQUEST.absent
      : request_bytes === limit_bytes
        ? REQUEST.isLimit
        : slots !== null && limit_bytes !== null && request_bytes === limit_bytes / slots
          ? REQUEST.isLimitPerSlot
          : REQUEST.other;
  writer.unsigned(code * 2 + Number(per === 'job'));
  if (code === REQUEST.other) writer.number(request_bytes);
}

function readRequest(reader: ByteReader, limit: number | null, slots: number | null): MemoryRequest {
  const head = reader.unsigned();
  const code = Math.floor(head / 2);
  const request =
    code === REQUEST.other
      ? reader.number()
      : code === REQUEST.isLimit
        ? limit
        : code === REQUEST.isLimitPerSlot
          ? (limit ?? 0) / (slots ?? 1)
          : null;
  return { request_bytes: request, limit_bytes: limit, per: head % 2 === 1 ? 'job' : 'slot' };
}

/** What a bracket shares with the first one of its record, as most do. */
export const SAME = { proved: 1, exact: 2, ends: 4, reasons: 8, at: 16, command: 32 } as const;

function sameItems(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index]);
}

function writeBracket(
  writer: ByteWriter,
  bracket: Bracket,
  first: Bracket | null,
  lowerIsKnown: boolean,
  base: number,
  words: Words,
): void {
  const same = {
    ends:
      first?.lower_bytes === bracket.lower_bytes &&
      first.upper_bytes === bracket.upper_bytes &&
      first.slack_bytes === bracket.slack_bytes,
    reasons: first !== null && sameItems(first.open, bracket.open) && sameItems(first.sources, bracket.sources),
    at: first?.at === bracket.at,
    command: first?.command === bracket.command,
  };
  writer.unsigned(
    Number(bracket.proved) * SAME.proved +
      Number(bracket.exact) * SAME.exact +
      Number(same.ends) * SAME.ends +
      Number(same.reasons) * SAME.reasons +
      Number(same.at) * SAME.at +
      Number(same.command) * SAME.command,
  );
  if (!same.ends) {
    if (!lowerIsKnown) writer.number(bracket.lower_bytes);
    writer.number(bracket.upper_bytes === null ? null : bracket.upper_bytes - bracket.lower_bytes);
    writer.number(bracket.slack_bytes);
  }
  if (!same.reasons) {
    writeSet(writer, bracket.open, OPEN_REASONS);
    writeSet(writer, bracket.sources, BRACKET_SOURCES);
  }
  if (!same.at) writer.number(bracket.at === null ? null : Date.parse(bracket.at) - base);
  if (!same.command) writer.unsigned(bracket.command === null ? 0 : words.intern('command', bracket.command));
}

function readBracket(
  reader: ByteReader,
  first: Bracket | null,
  knownLower: number | null,
  base: number,
  words: Words,
): Bracket {
  const head = reader.unsigned();
  const has = (bit: number): boolean => Math.floor(head / bit) % 2 === 1;
  const ends = (): Pick<Bracket, 'lower_bytes' | 'upper_bytes' | 'slack_bytes'> => {
    const lower = knownLower ?? reader.number() ?? 0;
    const width = reader.number();
    return {
      lower_bytes: lower,
      upper_bytes: width === null ? null : lower + width,
      slack_bytes: reader.number() ?? 0,
    };
  };
  const { lower_bytes, upper_bytes, slack_bytes } = first && has(SAME.ends) ? first : ends();
  const reasons = first && has(SAME.reasons);
  const open = reasons ? first.open : readSet(reader, OPEN_REASONS);
  const sources = reasons ? first.sources : readSet(reader, BRACKET_SOURCES);
  const time = (): string | null => {
    const ms = reader.number();
    return ms === null ? null : new Date(base + ms).toISOString();
  };
  const at = first && has(SAME.at) ? first.at : time();
  const commandId = first && has(SAME.command) ? null : reader.unsigned();
  return {
    lower_bytes,
    upper_bytes,
    slack_bytes,
    proved: has(SAME.proved),
    exact: has(SAME.exact),
    open,
    sources,
    at,
    command: commandId === null ? (first?.command ?? null) : commandId === 0 ? null : words.text('command', commandId),
  };
}

/** Slots by number: 0 status, 1 ... the merged fields; 126 a metric, 127 a complex, whose number follows. */
const STATUS_CODE = 0;
const METRIC_CODE = 126;
const COMPLEX_CODE = 127;

export function slotNumber(field: string): number {
  return MERGED_FIELDS.findIndex((name) => name === field) + 1;
}

function writeProvenance(writer: ByteWriter, stored: StoredRecord, words: Words): void {
  const groups = new Map<string, { readonly stamp: Stamp; readonly slots: string[] }>();
  for (const [slot, stamp] of Object.entries(stored.provenance as Readonly<Record<string, Stamp>>)) {
    const key = `${stamp.trust} ${stamp.revision} ${stamp.ended}`;
    const group = groups.get(key) ?? { stamp, slots: [] };
    groups.set(key, group);
    group.slots.push(slot);
  }
  writer.unsigned(groups.size);
  for (const { stamp, slots } of groups.values()) {
    writer.unsigned(TRUSTS.indexOf(stamp.trust) * 2 + Number(stamp.ended));
    writer.signed(stamp.revision - stored.record.revision);
    writer.unsigned(slots.length);
    for (const slot of slots) {
      if (slot === 'status') writer.unsigned(STATUS_CODE);
      else if (slot.startsWith(REQUEST_PREFIX)) {
        writer.unsigned(COMPLEX_CODE);
        writer.unsigned(words.intern('complex', slot.slice(REQUEST_PREFIX.length)));
      } else if (slot.startsWith(METRIC_PREFIX)) {
        writer.unsigned(METRIC_CODE);
        writer.unsigned(words.intern('metric', slot.slice(METRIC_PREFIX.length)));
      } else writer.unsigned(slotNumber(slot));
    }
  }
}

function readProvenance(reader: ByteReader, revision: number, words: Words): StoredRecord['provenance'] {
  const slots: [Slot, Stamp][] = [];
  for (let groups = reader.unsigned(); groups > 0; groups--) {
    const head = reader.unsigned();
    const trust = member(TRUSTS, Math.floor(head / 2));
    const stamp = { trust, revision: revision + reader.signed(), ended: head % 2 === 1 };
    for (let left = reader.unsigned(); left > 0; left--) {
      const code = reader.unsigned();
      const slot: Slot =
        code === STATUS_CODE
          ? 'status'
          : code === COMPLEX_CODE
            ? `${REQUEST_PREFIX}${words.text('complex', reader.unsigned())}`
            : code === METRIC_CODE
              ? `${METRIC_PREFIX}${words.text('metric', reader.unsigned())}`
              : member(MERGED_FIELDS, code - 1);
      slots.push([slot, stamp]);
    }
  }
  return Object.fromEntries(slots);
}

function writeMetrics(writer: ByteWriter, metrics: JobRecord['metrics'], words: Words): void {
  const entries = Object.entries(metrics);
  writer.unsigned(entries.length);
  for (const [name, value] of entries) {
    writer.unsigned(words.intern('metric', name));
    writer.number(value);
  }
}

function readMetrics(reader: ByteReader, words: Words): JobRecord['metrics'] {
  return Object.fromEntries(
    Array.from({ length: reader.unsigned() }, () => [words.text('metric', reader.unsigned()), reader.number() ?? 0]),
  );
}

function writeGrantedHosts(writer: ByteWriter, hosts: readonly GrantedSlots[], words: Words): void {
  writer.unsigned(hosts.length);
  for (const { host, slots } of hosts) {
    writer.unsigned(words.intern('host', host));
    writer.unsigned(slots);
  }
}

function readGrantedHosts(reader: ByteReader, words: Words): readonly GrantedSlots[] {
  return Array.from({ length: reader.unsigned() }, () => ({
    host: words.text('host', reader.unsigned()),
    slots: reader.unsigned(),
  }));
}

function writeNotes(writer: ByteWriter, notes: readonly string[], words: Words): void {
  writer.unsigned(notes.length);
  for (const { template, numbers } of notes.map(splitNote)) {
    writer.unsigned(words.intern('note', template));
    writer.unsigned(numbers.length);
    numbers.forEach((number) => writer.unsigned(number));
  }
}

function readNotes(reader: ByteReader, words: Words): readonly string[] {
  return Array.from({ length: reader.unsigned() }, () => {
    const template = words.text('note', reader.unsigned());
    return joinNote({ template, numbers: Array.from({ length: reader.unsigned() }, () => reader.unsigned()) });
  });
}

function baseTime(columns: Columns): number {
  return columns.started_at === null ? 0 : Date.parse(columns.started_at);
}

/** What an account shares with its record, as most do, and which of its words there are. */
export const ACCOUNT = { wallclock: 1, cpu: 2, oneLine: 4, category: 8, deletedBy: 16 } as const;
export const ACCOUNT_AMOUNTS = [
  'user_seconds',
  'system_seconds',
  'maxvmem_bytes',
  'maxrss_bytes',
  'mem_gib_seconds',
  'io_gib',
] as const;

function writeAccount(writer: ByteWriter, account: GridEngineAccount, record: JobRecord, words: Words): void {
  const code =
    Number(account.wallclock_seconds === record.wallclock_seconds) * ACCOUNT.wallclock +
    Number(account.cpu_seconds === record.cpu_seconds) * ACCOUNT.cpu +
    Number(account.lines === 1) * ACCOUNT.oneLine +
    Number(account.category !== null) * ACCOUNT.category +
    Number(account.deleted_by !== null) * ACCOUNT.deletedBy;
  writer.unsigned(code);
  if (!(code & ACCOUNT.wallclock)) writer.number(account.wallclock_seconds);
  if (!(code & ACCOUNT.cpu)) writer.number(account.cpu_seconds);
  if (!(code & ACCOUNT.oneLine)) writer.unsigned(account.lines);
  if (account.category !== null) writer.unsigned(words.intern('category', account.category));
  if (account.deleted_by !== null) writer.unsigned(words.intern('owner', account.deleted_by));
  for (const amount of ACCOUNT_AMOUNTS) writer.number(account[amount]);
}

function readAccount(
  reader: ByteReader,
  { wallclock, cpu }: { readonly wallclock: number | null; readonly cpu: number | null },
  words: Words,
): GridEngineAccount {
  const code = reader.unsigned();
  const wallclockSeconds = code & ACCOUNT.wallclock ? wallclock : reader.number();
  const cpuSeconds = code & ACCOUNT.cpu ? cpu : reader.number();
  const lines = code & ACCOUNT.oneLine ? 1 : reader.unsigned();
  const category = code & ACCOUNT.category ? words.text('category', reader.unsigned()) : null;
  const deletedBy = code & ACCOUNT.deletedBy ? words.text('owner', reader.unsigned()) : null;
  const amounts = Object.fromEntries(ACCOUNT_AMOUNTS.map((amount) => [amount, reader.number()]));
  return {
    wallclock_seconds: wallclockSeconds ?? 0,
    cpu_seconds: cpuSeconds ?? 0,
    ...(amounts as Pick<GridEngineAccount, (typeof ACCOUNT_AMOUNTS)[number]>),
    category,
    deleted_by: deletedBy,
    lines,
  };
}

/** The blob for a record. New strings go to the dictionaries: inside a write transaction only. */
export function writeDetail(stored: StoredRecord, columns: Columns, words: Words): Buffer {
  const { record } = stored;
  const writer = createByteWriter();
  const cpuIsDerived = record.cpu_efficiency === cpuEfficiency(columns, record.cpu_seconds, record.wallclock_seconds);
  const memoryIsDerived = record.memory_efficiency === memoryEfficiency(columns);
  const exactWallclock = record.wallclock_seconds !== null && wholeMs(record.wallclock_seconds) === null;
  const exactCpu = record.cpu_seconds !== null && wholeMs(record.cpu_seconds) === null;
  const requests = Object.entries(record.requests);
  const flags =
    Number(cpuIsDerived) * FLAG.derivedCpuEfficiency +
    Number(memoryIsDerived) * FLAG.derivedMemoryEfficiency +
    Number(record.h_vmem !== null) * FLAG.hVmem +
    Number(requests.length > 0) * FLAG.requests +
    Number(record.sampler !== null) * FLAG.sampler +
    Number(record.sampler?.mode === 'small') * FLAG.smallSampler +
    Number(record.notes.length > 0) * FLAG.notes +
    Number(Object.keys(stored.provenance).length > 0) * FLAG.provenance +
    Number(exactWallclock) * FLAG.exactWallclock +
    Number(exactCpu) * FLAG.exactCpu +
    Number(stored.ended !== (record.status !== 'running')) * FLAG.otherEnd +
    Number(Object.keys(record.metrics).length > 0) * FLAG.metrics +
    Number(record.granted_hosts !== null) * FLAG.grantedHosts +
    Number(record.grid_engine !== null) * FLAG.gridEngine;

  writer.unsigned(FORM);
  writer.unsigned(flags);
  if (exactWallclock) writer.number(record.wallclock_seconds);
  if (exactCpu) writer.number(record.cpu_seconds);
  if (!cpuIsDerived) writer.number(record.cpu_efficiency);
  if (!memoryIsDerived) writer.number(record.memory_efficiency);
  if (record.h_vmem !== null) writeRequest(writer, record.h_vmem, columns.host_slots);
  if (requests.length > 0) {
    writer.unsigned(requests.length);
    for (const [complex, request] of requests) {
      writer.unsigned(words.intern('complex', complex));
      writer.number(request.limit_bytes);
      writeRequest(writer, request, columns.host_slots);
    }
  }
  writer.unsigned(PEAKS.reduce((mask, peak, index) => mask + Number(record[peak] !== null) * 2 ** index, 0));
  const base = baseTime(columns);
  let first: Bracket | null = null;
  for (const peak of PEAKS) {
    const bracket = record[peak];
    if (bracket === null) continue;
    writeBracket(writer, bracket, first, peak === 'peak_rss', base, words);
    first ??= bracket;
  }
  writer.unsigned(COUNTERS.reduce((mask, counter, index) => mask + Number(record[counter] !== null) * 2 ** index, 0));
  for (const counter of COUNTERS) if (record[counter] !== null) writer.number(record[counter]);
  if (record.sampler !== null) {
    writer.number(record.sampler.cpu_seconds);
    writer.number(record.sampler.max_rss_bytes);
  }
  if (flags & FLAG.metrics) writeMetrics(writer, record.metrics, words);
  if (record.granted_hosts !== null) writeGrantedHosts(writer, record.granted_hosts, words);
  if (record.grid_engine !== null) writeAccount(writer, record.grid_engine, record, words);
  if (record.notes.length > 0) writeNotes(writer, record.notes, words);
  if (flags & FLAG.provenance) writeProvenance(writer, stored, words);
  return writer.finish();
}

/** What `writeDetail` wrote, given the same columns. Throws DamagedRecord where the blob is not of that form. */
export function readDetail(blob: Uint8Array, columns: Columns, words: Words): Detail {
  const reader = createByteReader(blob);
  const form = reader.unsigned();
  if (form < OLDEST_FORM || form > FORM) throw new DamagedRecord(`is of the unknown form ${form}`);
  const flags = reader.unsigned();
  const wallclock = flags & FLAG.exactWallclock ? reader.number() : columns.wallclock_seconds;
  const cpu = flags & FLAG.exactCpu ? reader.number() : columns.cpu_seconds;
  const cpuShare = flags & FLAG.derivedCpuEfficiency ? cpuEfficiency(columns, cpu, wallclock) : reader.number();
  const memoryShare = flags & FLAG.derivedMemoryEfficiency ? memoryEfficiency(columns) : reader.number();
  const slots = columns.host_slots;
  const hVmem = flags & FLAG.hVmem ? readRequest(reader, columns.h_vmem_limit, slots) : null;
  const requests: [string, MemoryRequest][] = [];
  for (let left = flags & FLAG.requests ? reader.unsigned() : 0; left > 0; left--) {
    const complex = words.text('complex', reader.unsigned());
    requests.push([complex, readRequest(reader, reader.number(), slots)]);
  }
  const present = reader.unsigned();
  const base = baseTime(columns);
  let first: Bracket | null = null;
  const peaks: Partial<Record<(typeof PEAKS)[number], Bracket | null>> = {};
  for (const [index, peak] of PEAKS.entries()) {
    const lower = peak === 'peak_rss' ? columns.peak_rss_lower : null;
    const bracket: Bracket | null =
      Math.floor(present / 2 ** index) % 2 === 1 ? readBracket(reader, first, lower, base, words) : null;
    first ??= bracket;
    peaks[peak] = bracket;
  }
  const counted = form < 4 ? 2 ** COUNTERS.length - 1 : reader.unsigned();
  const counters = Object.fromEntries(
    COUNTERS.map((counter, index) => [counter, Math.floor(counted / 2 ** index) % 2 === 1 ? reader.number() : null]),
  );
  const sampler: SamplerCost | null =
    flags & FLAG.sampler
      ? {
          cpu_seconds: reader.number() ?? 0,
          max_rss_bytes: reader.number() ?? 0,
          mode: flags & FLAG.smallSampler ? 'small' : 'full',
        }
      : null;
  const metrics = flags & FLAG.metrics ? readMetrics(reader, words) : {};
  const grantedHosts = flags & FLAG.grantedHosts ? readGrantedHosts(reader, words) : null;
  const account = flags & FLAG.gridEngine ? readAccount(reader, { wallclock, cpu }, words) : null;
  const notes = flags & FLAG.notes ? readNotes(reader, words) : [];
  const provenance = flags & FLAG.provenance ? readProvenance(reader, columns.revision, words) : {};
  return {
    h_vmem: hVmem,
    requests: Object.fromEntries(requests),
    ...(peaks as Pick<Detail, (typeof PEAKS)[number]>),
    ...(counters as Pick<Detail, (typeof COUNTERS)[number]>),
    wallclock_seconds: wallclock,
    cpu_seconds: cpu,
    cpu_efficiency: cpuShare,
    memory_efficiency: memoryShare,
    sampler,
    metrics,
    granted_hosts: grantedHosts,
    grid_engine: account,
    notes,
    ended: (columns.status !== 'running') !== Boolean(flags & FLAG.otherEnd),
    provenance,
  };
}

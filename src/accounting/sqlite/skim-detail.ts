import { createByteReader, type ByteReader } from './byte-codec';
import { COUNTERS, DETAIL_FORM, FLAG, PEAKS, REQUEST, SAME } from './detail';

/** Where the parts of a `record.detail` begin, and the few of its values that decide what a merge would change. */
export interface Skimmed {
  readonly flags: number;
  /** In full where the columns can't hold them; null: the columns do. */
  readonly exactWallclock: number | null;
  readonly exactCpu: number | null;
  readonly hasEfficiency: boolean;
  /** Numbers of the requested complexes in the dictionary. */
  readonly complexes: readonly number[];
  /** Behind the flags. */
  readonly body: number;
  /** Where Grid Engine's account stands, or would. */
  readonly account: number;
}

function skipRequest(reader: ByteReader): void {
  if (Math.floor(reader.unsigned() / 2) === REQUEST.other) reader.skipNumber();
}

function skipSet(reader: ByteReader): void {
  const code = reader.unsigned();
  if (code % 2 === 1) for (let left = (code - 1) / 2; left > 0; left--) reader.unsigned();
}

function skipBracket(reader: ByteReader, lowerIsKnown: boolean): void {
  const head = reader.unsigned();
  if (!(head & SAME.ends)) {
    if (!lowerIsKnown) reader.skipNumber();
    reader.skipNumber();
    reader.skipNumber();
  }
  if (!(head & SAME.reasons)) {
    skipSet(reader);
    skipSet(reader);
  }
  if (!(head & SAME.at)) reader.skipNumber();
  if (!(head & SAME.command)) reader.unsigned();
}

/**
 * Looks a blob of the newest form over, at a tenth of what reading it costs; null: it is of an older form. The columns
 * beside it hold wall clock, CPU time and slots. Throws DamagedRecord.
 */
export function skimDetail(blob: Uint8Array): Skimmed | null {
  const reader = createByteReader(blob);
  if (reader.unsigned() !== DETAIL_FORM) return null;
  const flags = reader.unsigned();
  const body = reader.position();
  const exactWallclock = flags & FLAG.exactWallclock ? reader.number() : null;
  const exactCpu = flags & FLAG.exactCpu ? reader.number() : null;
  const hasEfficiency = (flags & FLAG.derivedCpuEfficiency) !== 0 || reader.number() !== null;
  if (!(flags & FLAG.derivedMemoryEfficiency)) reader.skipNumber();
  if (flags & FLAG.hVmem) skipRequest(reader);
  const complexes: number[] = [];
  for (let left = flags & FLAG.requests ? reader.unsigned() : 0; left > 0; left--) {
    complexes.push(reader.unsigned());
    reader.skipNumber();
    skipRequest(reader);
  }
  const peaks = reader.unsigned();
  for (let index = 0; index < PEAKS.length; index++) if (peaks & (1 << index)) skipBracket(reader, index === 0);
  const counters = reader.unsigned();
  for (let index = 0; index < COUNTERS.length; index++) if (counters & (1 << index)) reader.skipNumber();
  if (flags & FLAG.sampler) {
    reader.skipNumber();
    reader.skipNumber();
  }
  for (let left = flags & FLAG.metrics ? reader.unsigned() : 0; left > 0; left--) {
    reader.unsigned();
    reader.skipNumber();
  }
  for (let left = flags & FLAG.grantedHosts ? reader.unsigned() : 0; left > 0; left--) {
    reader.unsigned();
    reader.unsigned();
  }
  return { flags, exactWallclock, exactCpu, hasEfficiency, complexes, body, account: reader.position() };
}

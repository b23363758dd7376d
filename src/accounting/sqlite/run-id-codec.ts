import { LINE_RUN } from '../coverage';
import { createByteReader, createByteWriter } from './byte-codec';

const USUAL = /^([0-9a-f]{8})\.(0|[1-9]\d{0,14})\.(0|[1-9]\d{0,14})$/;
const LINE = /^accounting\.(0|[1-9]\d{0,9})$/;
/** A usual run id has 6 bytes at least, a start time 5 at most. */
const LONGEST_START = 5;

/** "BOOTID.PID.STARTTIME" in some 11 bytes, "accounting.START" in 5; any other form as it is. */
export function packRunId(runId: string): Buffer | string {
  const writer = createByteWriter();
  const [, boot, pid, started] = USUAL.exec(runId) ?? [];
  if (boot !== undefined) {
    writer.bytes(Buffer.from(boot, 'hex'));
    writer.unsigned(Number(pid));
    writer.unsigned(Number(started));
    return writer.finish();
  }
  const [, start] = LINE.exec(runId) ?? [];
  if (start === undefined) return runId;
  writer.unsigned(Number(start));
  return writer.finish();
}

export function unpackRunId(stored: Buffer | string): string {
  if (typeof stored === 'string') return stored;
  const reader = createByteReader(stored);
  if (stored.length <= LONGEST_START) return `${LINE_RUN}${reader.unsigned()}`;
  const boot = Buffer.from(reader.bytes(4)).toString('hex');
  return [boot, reader.unsigned(), reader.unsigned()].join('.');
}

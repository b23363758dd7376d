import { createByteReader, createByteWriter } from './byte-codec';

const USUAL = /^([0-9a-f]{8})\.(0|[1-9]\d{0,14})\.(0|[1-9]\d{0,14})$/;

/** "BOOTID.PID.STARTTIME" in some 11 bytes; any other form as it is. */
export function packRunId(runId: string): Buffer | string {
  const [, boot, pid, start] = USUAL.exec(runId) ?? [];
  if (boot === undefined) return runId;
  const writer = createByteWriter();
  writer.bytes(Buffer.from(boot, 'hex'));
  writer.unsigned(Number(pid));
  writer.unsigned(Number(start));
  return writer.finish();
}

export function unpackRunId(stored: Buffer | string): string {
  if (typeof stored === 'string') return stored;
  const reader = createByteReader(stored);
  const boot = Buffer.from(reader.bytes(4)).toString('hex');
  return [boot, reader.unsigned(), reader.unsigned()].join('.');
}

import { GIB, MIB } from '../../base/units';
import { H_VMEM } from '../../gridengine/memory-complex';
import { isBelowAnyProgram } from '../../record/request';
import { exactSize } from '../advice/next-time';
import { formatBytes } from '../format/units';
import type { BadEnd } from './bad-end';
import type { Trial } from './large-request';

/** An h_vmem with which no program runs. */
interface TooLittle {
  /** A clause: what was requested. */
  readonly words: string;
  readonly trial: Trial | null;
}

/** Numbers of megabytes are larger than those of gigabytes. */
function withUnit(bytes: number): Trial | null {
  if (bytes >= MIB || bytes <= 0) return null;
  const unit = bytes < 100 ? 'G' : 'M';
  return {
    bytes: bytes * (unit === 'G' ? GIB : MIB),
    text: `h_vmem=${Math.ceil(bytes)}${unit}`,
    reason: 'h_vmem: a number without K, M or G is bytes',
  };
}

/** What is wrong with the request, if it is below the least that the shepherd sets as a limit; null: it is not. */
export function tooLittle({ subject, asked }: BadEnd): TooLittle | null {
  const bytes = subject.h_vmem?.request_bytes ?? null;
  if (bytes === null || !isBelowAnyProgram(subject)) return null;
  const isDefault = bytes === 0 && asked !== null && !asked.some(({ name }) => name === H_VMEM);
  const was = isDefault
    ? "its h_vmem was 0, the complex's default where none is requested"
    : bytes === 0
      ? 'its h_vmem was 0'
      : `it requested h_vmem=${exactSize(bytes)}, which is ${formatBytes(bytes)}`;
  const words = `${was}: no program runs with that`;
  return { words, trial: withUnit(bytes) };
}

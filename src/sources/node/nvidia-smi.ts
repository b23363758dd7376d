import { sumOfKnown } from '../../base/known';
import { MIB } from '../../base/units';
import type { GpuProcess, GpuState } from './gpu';

/** Fields that every driver since 340 knows; one unknown field would fail the whole query. */
export const SMI_GPU_FIELDS = [
  'index',
  'uuid',
  'memory.total',
  'memory.used',
  'utilization.gpu',
  'utilization.memory',
  'power.draw',
  'temperature.gpu',
] as const;

export const SMI_PROCESS_FIELDS = ['gpu_uuid', 'pid', 'used_memory'] as const;

export const SMI_FORMAT = '--format=csv,noheader,nounits';

const UUID = /^(GPU|MIG)-[\w/-]{4,100}$/;

/** "12", "12.50", "12 MiB"; null: "[N/A]", "[Not Supported]", "ERR!", "[Unknown Error]" and whatever else is no number. */
function number(word: string | undefined, most = Number.MAX_SAFE_INTEGER): number | null {
  const match = /^(\d{1,15}(?:\.\d{1,6})?)(?: (?:MiB|W|%|C))?$/.exec(word ?? '');
  if (match === null) return null;
  const value = Number(match[1]);
  return value <= most ? value : null;
}

const mib = (word: string | undefined): number | null => {
  const value = number(word, Number.MAX_SAFE_INTEGER / MIB);
  return value === null ? null : value * MIB;
};

const rows = (text: string): readonly (readonly string[])[] =>
  text.split('\n').map((line) => line.split(',').map((word) => word.trim()));

/**
 * `nvidia-smi --query-gpu=` SMI_GPU_FIELDS, of which none is the energy; lines that name no GPU (messages, garbage) are
 * left out.
 */
export function parseSmiGpus(text: string): readonly GpuState[] {
  const seen = new Set<string>();
  return rows(text).flatMap(([index, uuid, total, used, gpu, memory, power, temperature]) => {
    const position = number(index, 1024);
    if (position === null || uuid === undefined || !UUID.test(uuid) || seen.has(uuid)) return [];
    seen.add(uuid);
    return [
      {
        gpu: { id: uuid, vendor: 'nvidia', index: position, parent: null, aliases: [] },
        memoryTotalBytes: mib(total),
        memoryUsedBytes: mib(used),
        utilizationPercent: number(gpu, 100),
        memoryUtilizationPercent: number(memory, 100),
        powerWatts: number(power, 1e5),
        temperatureCelsius: number(temperature, 1000),
      },
    ];
  });
}

/** `nvidia-smi --query-compute-apps=` SMI_PROCESS_FIELDS; one process may have several contexts on a GPU: summed. */
export function parseSmiProcesses(text: string): readonly GpuProcess[] {
  const found = new Map<string, GpuProcess>();
  for (const [gpu, pidWord, used] of rows(text)) {
    const pid = number(pidWord, 4 * MIB);
    if (gpu === undefined || !UUID.test(gpu) || pid === null || !Number.isInteger(pid) || pid === 0) continue;
    const key = `${gpu} ${pid}`;
    const memoryBytes = sumOfKnown([found.get(key)?.memoryBytes, mib(used)]);
    found.set(key, { gpu, pid, memoryBytes });
  }
  return [...found.values()];
}

/** What nvidia-smi said instead of an answer, in one line; null: nothing. */
export function smiMessage(text: string): string | null {
  const line = text.split('\n').find((candidate) => candidate.trim() !== '');
  return line === undefined
    ? null
    : line
        .replace(/\p{Cc}/gu, ' ')
        .trim()
        .slice(0, 200);
}

import { gpuLabel, type Gpu, type GpuVendor } from '../node/gpu';
import type { Reading } from '../source';

/**
 * Which GPUs a job holds. Its environment says which ones it was given: the user's word, since `qsub -v` can set every
 * variable in it. Its processes show which ones it has open. Both count; where they differ, a note says so.
 */
export interface HeldGpu {
  readonly gpu: Gpu;
  /** Variables that name it; empty: only its processes do. */
  readonly variables: readonly string[];
  /** The job's processes that have it open. */
  readonly pids: readonly number[];
}

export interface HeldGpus {
  readonly held: readonly HeldGpu[];
  /** Plain sentences on what doesn't fit. */
  readonly notes: readonly string[];
}

/** Processes by GPU. */
export type GpuPids = ReadonlyMap<string, ReadonlySet<number>>;

const NAMED_BY: readonly (readonly [variable: RegExp, vendor: GpuVendor | null])[] = [
  [/^CUDA_VISIBLE_DEVICES$/, 'nvidia'],
  [/^NVIDIA_VISIBLE_DEVICES$/, 'nvidia'],
  [/^ROCR_VISIBLE_DEVICES$/, 'amd'],
  [/^HIP_VISIBLE_DEVICES$/, 'amd'],
  [/^GPU_DEVICE_ORDINAL$/, 'amd'],
  [/^ZE_AFFINITY_MASK$/, 'intel'],
  // Ids of a resource map that Grid Engine granted; the site chose the complex's name.
  [/^SGE_HGR_\w*(gpu|cuda|nvidia|rocm)\w*$/i, null],
];

/** Indexes in these variables count only the GPUs that ROCR_VISIBLE_DEVICES leaves. */
const WITHIN_ROCR = new Set(['HIP_VISIBLE_DEVICES', 'GPU_DEVICE_ORDINAL', 'CUDA_VISIBLE_DEVICES']);

interface Named {
  readonly gpus: readonly Gpu[];
  /** Words that mean no GPU of this host. */
  readonly unknown: readonly string[];
}

/** The only GPU whose UUID is or begins with `word`, as CUDA reads it; null: none, or several. */
function byUuid(word: string, gpus: readonly Gpu[]): Gpu | null {
  const wanted = word.toLowerCase();
  const names = (gpu: Gpu): readonly string[] => [gpu.id, ...gpu.aliases].map((name) => name.toLowerCase());
  const exact = gpus.find((gpu) => names(gpu).includes(wanted));
  if (exact !== undefined) return exact;
  // "MIG-GPU-UUID/GI/CI", as drivers before 470 named instances: only its GPU is known.
  const [, parent] = /^mig-(gpu-[\da-f-]+)\/\d+\/\d+$/.exec(wanted) ?? [];
  if (parent !== undefined) return byUuid(parent, gpus);
  const [first, second] = gpus.filter((gpu) => names(gpu).some((name) => name.startsWith(wanted)));
  return first !== undefined && second === undefined ? first : null;
}

/** GPUs that the words of one variable name, among those that it can name (`gpus`). */
function named(words: readonly string[], gpus: readonly Gpu[], stopAtUnknown: boolean): Named {
  const byNumber = (at: number, part: string | undefined): Gpu | null => {
    // By number, not by place in the list: when a GPU is lost, the others keep their numbers.
    const gpu = gpus.find(({ parent, index }) => parent === null && index === at);
    if (gpu === undefined) return null;
    return gpus.find(({ parent, index }) => parent === gpu.id && index === Number(part)) ?? gpu;
  };
  const found = new Set<Gpu>();
  const unknown: string[] = [];
  for (const word of words) {
    // "1"; "0:1", "0.1": a MIG instance or a tile of it; "gpu1", "card1", "/dev/nvidia1": ids of resource maps.
    const [, digits, part] = /^(?:\/dev\/)?[a-z_]*(\d{1,4})(?:[:.](\d{1,4}))?$/i.exec(word) ?? [];
    const gpu =
      digits !== undefined ? byNumber(Number(digits), part) : /^(GPU|MIG)-/i.test(word) ? byUuid(word, gpus) : null;
    if (gpu !== null) {
      found.add(gpu);
      continue;
    }
    if (word !== '-1') unknown.push(word);
    if (stopAtUnknown) break;
  }
  return { gpus: [...found], unknown };
}

const NOTHING: ReadonlySet<string> = new Set(['none', 'void', 'no', 'nodevfiles', '-1']);

const MOST_WORDS = 256;
const MOST_SHOWN = 4;

/** The words of a value; none if it names no GPU in particular (empty, "none", "all" ...). */
function wordsOf(value: string): readonly string[] {
  const words = value.split(/[\s,]+/).filter((word) => word !== '');
  const first = words[0]?.toLowerCase() ?? '';
  return first === 'all' || NOTHING.has(first) ? [] : words.slice(0, MOST_WORDS);
}

interface Environment {
  readonly variables: ReadonlyMap<Gpu, readonly string[]>;
  readonly notes: readonly string[];
}

function fromEnvironment(environment: ReadonlyMap<string, string>, gpus: readonly Gpu[]): Environment {
  const variables = new Map<Gpu, string[]>();
  const notes: string[] = [];
  const of = (vendor: GpuVendor): readonly Gpu[] => gpus.filter((gpu) => gpu.vendor === vendor);
  const rocr = environment.get('ROCR_VISIBLE_DEVICES');
  const left = rocr === undefined ? null : named(wordsOf(rocr), of('amd'), true).gpus;

  for (const [variable, value] of environment) {
    const entry = NAMED_BY.find(([pattern]) => pattern.test(variable));
    if (entry === undefined) continue;
    const [, vendor] = entry;
    let among = vendor === null ? gpus : of(vendor);
    // HIP reads CUDA's variable where there is no NVIDIA GPU; a resource map names GPUs of the vendor that is present.
    if (variable === 'CUDA_VISIBLE_DEVICES' && among.length === 0) among = of('amd');
    if (vendor === null) {
      const present = (['nvidia', 'amd', 'intel'] as const).find((candidate) => of(candidate).length > 0);
      among = present === undefined ? [] : of(present);
    }
    if (left !== null && WITHIN_ROCR.has(variable) && among.every((gpu) => gpu.vendor === 'amd'))
      among = left.map((gpu, index) => ({ ...gpu, index }));
    const result = named(wordsOf(value), among, variable === 'CUDA_VISIBLE_DEVICES');
    for (const { id } of result.gpus) {
      const gpu = gpus.find((candidate) => candidate.id === id);
      if (gpu !== undefined) variables.set(gpu, [...(variables.get(gpu) ?? []), variable]);
    }
    if (result.unknown.length > 0)
      notes.push(
        `${shownVariable(variable)} names ${result.unknown.slice(0, MOST_SHOWN).map(shown).join(', ')}: no such GPU on this host.`,
      );
  }
  return { variables, notes };
}

/** A variable's name, cut short: the patterns above allow any length. */
const shownVariable = (name: string): string => name.slice(0, 48);

/** A word of the user's choice, fit for one line. */
const shown = (word: string): string => `"${word.slice(0, 48).replace(/[^ -~]|["\\]/g, '?')}"`;

/**
 * The GPUs that a job holds. `environment`: variables by name, as Grid Engine gave them to the job. `open`: processes
 * by GPU, of all jobs (gpuPids).
 */
export function heldGpus(
  environment: ReadonlyMap<string, string>,
  gpus: readonly Gpu[],
  open: GpuPids,
  pids: ReadonlySet<number>,
): HeldGpus {
  const given = fromEnvironment(environment, gpus);
  const opened = new Map<Gpu, readonly number[]>();
  for (const gpu of gpus) {
    const own = [...(open.get(gpu.id) ?? [])].filter((pid) => pids.has(pid)).sort((one, other) => one - other);
    if (own.length > 0) opened.set(gpu, own);
  }
  /** A job that was given a GPU with MIG instances holds the instance that it uses or was given, not the whole GPU. */
  const replaced = (gpu: Gpu): boolean =>
    !opened.has(gpu) && [...opened.keys(), ...given.variables.keys()].some(({ parent }) => parent === gpu.id);
  const variablesOf = (gpu: Gpu): readonly string[] => [
    ...(given.variables.get(gpu) ?? []),
    ...[...given.variables].flatMap(([parent, names]) => (parent.id === gpu.parent ? names : [])),
  ];

  const held = gpus
    .filter((gpu) => opened.has(gpu) || (given.variables.has(gpu) && !replaced(gpu)))
    .map((gpu) => ({ gpu, variables: variablesOf(gpu), pids: opened.get(gpu) ?? [] }));
  const strangers = held.filter(({ gpu, variables }) => {
    // Only if a variable names GPUs of this vendor is there a contradiction.
    const spoken = [...given.variables.keys()].some(({ vendor }) => vendor === gpu.vendor);
    return spoken && variables.length === 0;
  });
  return {
    held,
    notes: [
      ...given.notes,
      ...strangers.map(({ gpu }) => `${gpuLabel(gpu, gpus)} is used by the job, but its environment does not name it.`),
    ],
  };
}

const BY_PROCESS = /^(nvidia_process|drmprocess)_/;

/** Which processes have which GPU open, by readings of the sources `nvidia` and `drmprocess`. */
export function gpuPids(readings: readonly Reading[]): GpuPids {
  const open = new Map<string, Set<number>>();
  for (const { metric, instance, pid } of readings) {
    // Peaks that the driver keeps of ended processes show no open GPU, nor does engine time ("PCI/engine").
    if (pid === undefined || !BY_PROCESS.test(metric)) continue;
    if (metric === 'nvidia_process_peak_memory_bytes' || metric === 'drmprocess_busy_seconds') continue;
    const pids = open.get(instance) ?? new Set();
    open.set(instance, pids.add(pid));
  }
  return open;
}

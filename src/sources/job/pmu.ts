import { parseCpuList } from '../cpu-list';
import { listNames, readInteger, readText } from '../files';
import { unavailable, type Unavailable } from '../source';

/** A unit that counts events, from /sys/bus/event_source/devices/NAME. */
export interface Pmu {
  readonly name: string;
  readonly type: number;
  /** The CPUs that have this unit; null: all of them (or none: see nodeWide). */
  readonly cpus: readonly number[] | null;
  /** It counts for a socket or the node, so it is of no use for one job. */
  readonly nodeWide: boolean;
}

/** The words of an event's code. */
export interface PmuConfig {
  readonly config: bigint;
  readonly config1: bigint;
  readonly config2: bigint;
}

type Word = keyof PmuConfig;

/** Where a term's value goes: bits of one word, from the value's lowest on. */
interface TermFormat {
  readonly word: Word;
  readonly bits: readonly number[];
}

const devices = (sys: string): string => `${sys}/bus/event_source/devices`;

/** Names end up in paths. */
const isName = (name: string): boolean => /^\w[\w.-]*$/.test(name);

/** The PMU with this name; null: there is none. */
export function readPmu(sys: string, name: string): Pmu | null {
  if (!isName(name)) return null;
  const type = readInteger(`${devices(sys)}/${name}/type`);
  if (type === null || type < 0 || type > 0xffffffff) return null;
  const cpus = readText(`${devices(sys)}/${name}/cpus`);
  return {
    name,
    type,
    cpus: cpus === null ? null : parseCpuList(cpus),
    nodeWide: cpus === null && readText(`${devices(sys)}/${name}/cpumask`) !== null,
  };
}

/**
 * The units of the CPU cores where there are several kinds of cores (Intel's cpu_core and cpu_atom, Arm's big and
 * little): those with a `cpus` file. Empty on ordinary machines: there the kernel finds the only one by itself.
 */
export function corePmusOfHybrid(sys: string): readonly Pmu[] {
  const pmus = listNames(devices(sys))
    .map((name) => readPmu(sys, name))
    .filter((pmu) => pmu !== null)
    .filter(({ cpus }) => cpus !== null && cpus.length > 0);
  return pmus.length > 1 ? pmus : [];
}

/** Parses a file below `format/`: "config:0-7,32-35"; null when the text is something else. */
export function parseFormat(text: string): TermFormat | null {
  const match = /^(config[12]?):(\d[\d,-]*)$/.exec(text.trim());
  const bits = match === null ? null : parseCpuList(match[2] ?? '');
  if (bits === null || bits.length === 0 || bits.some((bit) => bit > 63)) return null;
  return { word: match?.[1] as Word, bits };
}

/** A word with a value spread over its bits; null when the value has more bits than there are. */
export function spread(word: bigint, bits: readonly number[], value: bigint): bigint | null {
  if (value >> BigInt(bits.length) !== 0n) return null;
  return bits.reduce((result, bit, index) => {
    const place = 1n << BigInt(bit);
    return (value >> BigInt(index)) & 1n ? result | place : result & ~place;
  }, word);
}

interface Term {
  readonly name: string;
  /** null: given without a value. */
  readonly value: bigint | null;
}

/** "event=0x3c,umask=1,edge": terms in their order; null when the text is something else. */
export function parseTerms(text: string): readonly Term[] | null {
  const terms = text.trim().split(',');
  const parsed = terms.map((term): Term | null => {
    const match = /^(\w[\w.-]*)(?:=(0x[0-9a-f]{1,16}|\d{1,20}))?$/i.exec(term.trim());
    if (match === null) return null;
    const value = match[2] === undefined ? null : BigInt(match[2]);
    return value !== null && value >> 64n !== 0n ? null : { name: match[1] ?? '', value };
  });
  return parsed.every((term) => term !== null) ? parsed : null;
}

/** Whole words may be given by name, too. */
const WHOLE_WORD: readonly number[] = Array.from({ length: 64 }, (_, bit) => bit);
const WORDS: readonly string[] = ['config', 'config1', 'config2'];

/** The code of an event given in a PMU's own terms; names of its events count as the terms that they stand for. */
export function encodeTerms(sys: string, pmu: Pmu, text: string): PmuConfig | Unavailable {
  const directory = `${devices(sys)}/${pmu.name}`;
  const event = `${pmu.name}/${text}/`;
  const terms = parseTerms(text);
  if (terms === null) return unavailable(`${event}: not a list of terms`, 'write PMU/term=value,term=value/');
  const named = (term: Term): readonly Term[] | null => {
    if (term.value !== null) return [term];
    const alias = readText(`${directory}/events/${term.name}`);
    return alias === null ? [{ ...term, value: 1n }] : parseTerms(alias);
  };
  const words: Record<Word, bigint> = { config: 0n, config1: 0n, config2: 0n };
  for (const term of terms) {
    const meant = named(term);
    if (meant === null) return unavailable(`${event}: "${term.name}" wants further terms`, 'write its terms out');
    for (const { name, value } of meant) {
      const format = WORDS.includes(name)
        ? { word: name as Word, bits: WHOLE_WORD }
        : parseFormat(readText(`${directory}/format/${name}`) ?? '');
      if (format === null)
        return unavailable(`${event}: no term or event "${name}"`, `see ${directory}/format and ${directory}/events`);
      const word = spread(words[format.word], format.bits, value ?? 1n);
      if (word === null) return unavailable(`${event}: the value of "${name}" is too large`, "check the event's code");
      words[format.word] = word;
    }
  }
  return words;
}

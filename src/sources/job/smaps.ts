import { KIB } from '../../base/units';

/** Memory of one address space, each page divided by how many processes map it. Bytes; null: this kernel does not have it. */
export interface SharedMemory {
  readonly pss: number;
  /** Anonymous part of `pss`; from kernels that do not split it, what must be anonymous at least. */
  readonly pssAnon: number;
  readonly pssFile: number | null;
  readonly pssShmem: number | null;
  /** From Linux 4.3. */
  readonly swapPss: number | null;
  readonly sharedClean: number;
  readonly sharedDirty: number;
  readonly privateClean: number;
  readonly privateDirty: number;
  readonly anonHuge: number;
  /** Pages of hugetlbfs, which are not in `pss`. */
  readonly hugetlb: number;
}

/** `1c2000-1c4000 rw-p 00000000 00:00 0   NAME` or `Pss:   12 kB`. At most 12 digits: a PiB, well below 2^53 bytes. */
const LINE = /^(?:([0-9a-f]+-[0-9a-f]+ .*)|([A-Z][A-Za-z_]+): +(\d{1,12}) kB)$/gm;

/** Shared memory by the name that its mapping has: anonymous, System V, POSIX, memfd. Other tmpfs files look like files. */
const SHMEM_NAME = / (?:\/dev\/zero \(deleted\)|\/SYSV|\/dev\/shm\/|\/memfd:)/;

/**
 * The part of a mapping's PSS that must be anonymous: its other pages add at most their full size (rss - anonymous).
 * Exact for a mapping of one kind of page, shared or not.
 */
function surelyAnonymous(pss: number, rss: number, anonymous: number): number {
  return Math.max(0, Math.min(pss, pss - (rss - anonymous)));
}

/** Reads `/proc/PID/smaps_rollup` (from Linux 4.14) or `/proc/PID/smaps`, piece by piece; proc_pid_smaps(5). */
export class SmapsReader {
  private readonly sums = {
    Pss: 0,
    SwapPss: 0,
    Shared_Clean: 0,
    Shared_Dirty: 0,
    Private_Clean: 0,
    Private_Dirty: 0,
    AnonHugePages: 0,
    Shared_Hugetlb: 0,
    Private_Hugetlb: 0,
    Pss_Anon: 0,
    Pss_File: 0,
    Pss_Shmem: 0,
  };
  private readonly seen = { rss: false, pss: false, swap: false, split: false };
  /** The mapping whose lines are being read. */
  private readonly mapping = { rss: 0, pss: 0, anonymous: 0, shmem: false };
  private count = 0;
  private rollup = false;
  private anon = 0;
  private shmem = 0;
  private file = 0;
  private rest = '';

  add(text: string): void {
    const all = this.rest + text;
    const end = all.lastIndexOf('\n') + 1;
    this.rest = all.slice(end);
    this.take(all.slice(0, end));
  }

  /** Mappings so far. */
  maps(): number {
    return this.count;
  }

  /** null: the text has no Rss or no Pss. */
  result(): SharedMemory | null {
    this.endMapping();
    const sums = this.sums;
    const seen = this.seen;
    if (!seen.rss || !seen.pss) return null;
    const whole = (value: number): number => value * KIB;
    const unsplit = this.rollup && !seen.split;
    return {
      pss: whole(sums.Pss),
      pssAnon: whole(seen.split ? sums.Pss_Anon : this.anon),
      pssFile: unsplit ? null : whole(seen.split ? sums.Pss_File : this.file),
      pssShmem: unsplit ? null : whole(seen.split ? sums.Pss_Shmem : this.shmem),
      swapPss: seen.swap ? whole(sums.SwapPss) : null,
      sharedClean: whole(sums.Shared_Clean),
      sharedDirty: whole(sums.Shared_Dirty),
      privateClean: whole(sums.Private_Clean),
      privateDirty: whole(sums.Private_Dirty),
      anonHuge: whole(sums.AnonHugePages),
      hugetlb: whole(sums.Shared_Hugetlb + sums.Private_Hugetlb),
    };
  }

  private endMapping(): void {
    const mapping = this.mapping;
    const ofAnon = surelyAnonymous(mapping.pss, mapping.rss, mapping.anonymous);
    this.anon += ofAnon;
    if (mapping.shmem) this.shmem += mapping.pss - ofAnon;
    else this.file += mapping.pss - ofAnon;
    mapping.rss = mapping.pss = mapping.anonymous = 0;
    mapping.shmem = false;
  }

  private take(text: string): void {
    const sums = this.sums;
    const seen = this.seen;
    const mapping = this.mapping;
    for (const [, header, key = '', digits] of text.matchAll(LINE)) {
      if (header !== undefined) {
        this.endMapping();
        this.count++;
        mapping.shmem = SHMEM_NAME.test(header);
        this.rollup ||= header.endsWith(' [rollup]');
        continue;
      }
      if (this.count === 0) continue;
      const value = Number(digits);
      if (Object.hasOwn(sums, key)) sums[key as keyof typeof sums] += value;
      if (key === 'Rss') {
        seen.rss = true;
        mapping.rss = value;
      } else if (key === 'Pss') {
        seen.pss = true;
        mapping.pss = value;
      } else if (key === 'Anonymous') mapping.anonymous = value;
      else if (key === 'SwapPss') seen.swap = true;
      else if (key === 'Pss_Anon') seen.split = true;
    }
  }
}

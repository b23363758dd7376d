import { readFileSync } from 'node:fs';

/** What a plain sampler finds: the largest sums at the moments of its samples. Bytes. */
export interface PlainFigures {
  readonly samples: number;
  readonly rssSum: number;
  readonly hwmSum: number;
}

const INTERVAL_MS = 1000;
const PAGE = 4096;
const KIB = 1024;

function read(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

function treeOf(pid: number): readonly number[] {
  const found = [pid];
  for (const each of found)
    for (const child of read(`/proc/${each}/task/${each}/children`).split(' '))
      if (child !== '') found.push(Number(child));
  return found;
}

/**
 * Adds up RSS (statm) and high-water marks (VmHWM) of a process and its descendants once a second, as scripts do. The
 * first sample is `phaseMs` after the start: such a script doesn't start with the job.
 */
export function samplePlainly(pid: number, phaseMs: number): { readonly stop: () => PlainFigures } {
  let samples = 0;
  let rssSum = 0;
  let hwmSum = 0;
  let timer = setTimeout(sample, phaseMs);

  function sample(): void {
    timer = setTimeout(sample, INTERVAL_MS);
    let rss = 0;
    let hwm = 0;
    for (const each of treeOf(pid)) {
      rss += Number(read(`/proc/${each}/statm`).split(' ')[1] ?? 0) * PAGE;
      hwm += Number(/^VmHWM:\s+(\d+)/m.exec(read(`/proc/${each}/status`))?.[1] ?? 0) * KIB;
    }
    samples++;
    rssSum = Math.max(rssSum, rss);
    hwmSum = Math.max(hwmSum, hwm);
  }

  return {
    stop: () => {
      clearTimeout(timer);
      return { samples, rssSum, hwmSum };
    },
  };
}

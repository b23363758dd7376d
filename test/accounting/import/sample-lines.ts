/** A line of an 8.1.9 accounting file. */
export function sampleLine(job: number, more: { readonly owner?: string; readonly start?: number } = {}): string {
  const start = more.start ?? 1_763_700_000 + job;
  const head = `all.q:ge1:users:${more.owner ?? 'alice'}:run.sh:${job}:sge:0:${start - 5}:${start}:${start + 60}:0:0:60:`;
  const rusage = '12.000000:0.500000:315172.000000:0:0:0:0:80211:3:0:128.000000:16:0:0:0:210:95:';
  return `${head}${rusage}NONE:defaultdepartment:NONE:1:0:12.500000:3.750000:0.015625:-l h_vmem=1G:0.000000:NONE:322961408.000000:0:0\n`;
}

/** The line of a job that never started; a second try that fails in the same way has the same line. */
export function failedLine(job: number): string {
  const head = `all.q:ge1:users:alice:run.sh:${job}:sge:0:1763700000:0:0:26:0:0:`;
  return `${head}${'0:'.repeat(17)}NONE:defaultdepartment:NONE:1:0:0:0:0:NONE:0.000000:NONE:0.000000:0:0\n`;
}

export function sampleLines(first: number, count: number): string {
  return Array.from({ length: count }, (_, index) => sampleLine(first + index)).join('');
}

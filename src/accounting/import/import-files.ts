import {
  addSums,
  importFile,
  NOTHING_IMPORTED,
  type ImportOptions,
  type ImportStore,
  type ImportSums,
} from './import-file';

export interface FilesOutcome extends ImportSums {
  /** What is wrong with a file, by its path: one line with cause and fix. */
  readonly problems: ReadonlyMap<string, string>;
  /** Those of them whose problem may be gone at another try, though they do not change. */
  readonly mayPass: ReadonlySet<string>;
  /** Files whose last line has no newline yet. */
  readonly cut: readonly string[];
}

export interface FilesOptions extends Omit<ImportOptions, 'onProgress'> {
  /** What was done in all files so far; `done` and `of` are bytes on disk, `of` includes files to come. */
  readonly onProgress?: (sums: ImportSums, done: number, of: number) => void;
  readonly sizeOf?: (path: string) => number;
}

/** Imports what is new in each of the files, whatever their order. Rejects as `importFile`. */
export async function importFiles(
  paths: readonly string[],
  store: ImportStore,
  options: FilesOptions,
): Promise<FilesOutcome> {
  const { onProgress, sizeOf = () => 0, ...rest } = options;
  const sizes = paths.map(sizeOf);
  const all = sizes.reduce((sum, size) => sum + size, 0);
  let sums = NOTHING_IMPORTED;
  const problems = new Map<string, string>();
  const passing = new Set<string>();
  const cut: string[] = [];
  let before = 0;
  for (const [index, path] of paths.entries()) {
    if (options.signal?.aborted) break;
    const earlier = sums;
    const done = before;
    const { problem, isCut, mayPass, ...imported } = await importFile(path, store, {
      ...rest,
      onProgress: (now, part) => onProgress?.(addSums(earlier, now), done + part, Math.max(all, done + part)),
    });
    sums = addSums(sums, imported);
    if (problem !== null) problems.set(path, problem);
    if (mayPass) passing.add(path);
    if (isCut) cut.push(path);
    before += sizes[index] ?? 0;
  }
  return { ...sums, problems, mayPass: passing, cut };
}

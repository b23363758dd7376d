const longest = 400;

/** First line with anything in it, without control characters, cut to what fits a message; null: there is none. */
export function firstLine(text: string): string | null {
  for (const line of text.slice(0, 65_536).split(/[\r\n]+/)) {
    // eslint-disable-next-line no-control-regex -- they are what is to go
    const clean = line.replace(/[\u0000-\u001f\u007f-\u009f]/g, ' ').trim();
    if (clean !== '') return clean.length > longest ? `${clean.slice(0, longest)}...` : clean;
  }
  return null;
}

/**
 * Whether a line in place of an expected document is a message of Grid Engine (`error: commlib error: ...`, `denied:
 * host "x" is neither submit nor admin host`, the version above the usage text), and not some other program's.
 */
export function soundsLikeGridEngine(line: string): boolean {
  return (
    /^(error|denied|critical|warning|unable|failed|usage|qstat|qhost|please set)\b/i.test(line) ||
    /^(S?GE|OGS|UGE|AGE|OCS|GCS)[ /]/.test(line) ||
    /commlib|qmaster|\bGDI\b|SGE_ROOT|SGE_CELL|(submit|admin) host/i.test(line)
  );
}

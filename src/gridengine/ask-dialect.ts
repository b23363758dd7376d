import { detectDialect, type DetectedDialect } from './dialect';
import type { Qconf } from './qconf';

/** Which Grid Engine this is, by its own `qconf -help`, which does not need qmaster; null: no qconf starts. */
export async function askDialect(qconf: Qconf | null): Promise<DetectedDialect | null> {
  try {
    const help = await qconf?.(['-help']);
    if (help === undefined) return null;
    return detectDialect((help.stdout || help.stderr).split('\n')[0] ?? '');
  } catch {
    return null;
  }
}

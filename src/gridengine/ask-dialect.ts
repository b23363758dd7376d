import { detectDialect, type DetectedDialect } from './dialect';
import type { Qconf } from './qconf';

/**
 * Which Grid Engine this is, by the help of its own qconf, which does not need qmaster; null: there is no qconf that
 * starts.
 */
export async function askDialect(qconf: Qconf | null): Promise<DetectedDialect | null> {
  try {
    const help = await qconf?.(['-help']);
    if (help === undefined) return null;
    return detectDialect({ helpFirstLine: (help.stdout || help.stderr).split('\n')[0] ?? '' });
  } catch {
    return null;
  }
}

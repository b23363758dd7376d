import { readSync, writeFileSync, writeSync } from 'node:fs';
import { codeOf } from '../../base/error-code';
import { usableSettings } from '../../record/settings';
import { serve, type Served } from './serve';

const FIRST_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

/** Reads lines from a descriptor, blocking; null at its end. No event loop: a hanging source would block it anyway. */
export function linesOf(fd: number): () => string | null {
  let buffer = Buffer.allocUnsafe(FIRST_BYTES);
  let from = 0;
  let to = 0;
  return () => {
    for (let searched = from; ;) {
      const end = buffer.subarray(0, to).indexOf(NEWLINE, searched);
      if (end >= 0) {
        const line = buffer.toString('utf8', from, end);
        from = end + 1;
        return line;
      }
      searched = to;
      if (from > 0) {
        buffer.copy(buffer, 0, from, to);
        searched -= from;
        to -= from;
        from = 0;
      }
      if (to === buffer.length) buffer = Buffer.concat([buffer], buffer.length * 4);
      const got = readSync(fd, buffer, to, buffer.length - to, null);
      if (got === 0) return null;
      to += got;
    }
  };
}

/** writeSync may write a part only. */
function writeAll(fd: number, text: string): void {
  const bytes = Buffer.from(text);
  for (let done = 0; done < bytes.length;) done += writeSync(fd, bytes, done);
}

/** Serves the sampler over standard input and output, until the input is closed, as it is when the sampler ends. */
export function serveStandardStreams(settingsPath: string, served: Omit<Served, 'settings'>): void {
  process.umask(0o077);
  process.chdir('/');
  try {
    // The sampler's low OOM score is inherited: of the two, the kernel had better kill this one.
    writeFileSync('/proc/self/oom_score_adj', '0');
  } catch {
    // Then it is as well protected as the sampler.
  }
  // What is wrong with the settings has been logged by the sampler.
  const { settings } = usableSettings(settingsPath);
  try {
    serve({ ...served, settings }, linesOf(0), (line) => {
      writeAll(1, line);
    });
  } catch (error) {
    if (codeOf(error) !== 'EPIPE') throw error;
  }
}

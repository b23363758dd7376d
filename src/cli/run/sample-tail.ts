import { closeSync, constants, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { checkJson } from '../../base/shape';
import { makeFifo } from '../../native/libc';
import { STREAM, streamedSample, type StreamedSample } from '../../sampler/series/sample-stream';

/** Often enough: the FIFO holds hundreds of samples. */
const LOOK_EVERY_MS = 100;
const CHUNK = 65_536;

/**
 * Makes the FIFO in a run directory and gives its samples to `take`; to be called before the sampler starts. Returns a
 * function that takes the samples that have come so far, then stops.
 */
export function followSamples(directory: string, take: (sample: StreamedSample) => void): () => void {
  const path = join(directory, STREAM);
  makeFifo(path, 0o600);
  // Open for writing, too, so that reads see no end of file when the sampler closes it.
  const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  const buffer = Buffer.allocUnsafe(CHUNK);
  let begun = '';
  function drain(): void {
    try {
      for (;;) {
        const text = begun + buffer.toString('utf8', 0, readSync(fd, buffer));
        const lines = text.split('\n');
        begun = lines.pop() ?? '';
        for (const line of lines) {
          const sample = checkJson(streamedSample, line, 'the sample');
          if (sample.ok) take(sample.value);
        }
      }
    } catch {
      // EAGAIN: nothing more for now. Other errors are ignored, too: rows must not end the command's supervisor.
    }
  }
  const timer = setInterval(drain, LOOK_EVERY_MS);
  return () => {
    clearInterval(timer);
    drain();
    closeSync(fd);
  };
}

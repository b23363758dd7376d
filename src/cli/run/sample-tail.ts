import { closeSync, constants, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { checkJson } from '../../base/shape';
import { makeFifo } from '../../native/libc';
import { STREAM, streamedSample, type StreamedSample } from '../../sampler/series/sample-stream';

/** The samples of a run as its sampler takes them. */
export interface SampleTail {
  /** Takes what has come so far, and no more from then on. */
  readonly close: () => void;
}

/** The FIFO holds hundreds of samples. */
const LOOK_EVERY_MS = 100;
const CHUNK = 65_536;

/** Makes the FIFO in a run directory; to be called before its sampler starts. */
export function followSamples(directory: string, take: (sample: StreamedSample) => void): SampleTail {
  const path = join(directory, STREAM);
  makeFifo(path, 0o600);
  // Open for writing, too: so it never ends while the sampler comes and goes.
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
      // Nothing more for now. Rows are a help to the reader, and no fault in them may end the command's supervisor.
    }
  }
  const timer = setInterval(drain, LOOK_EVERY_MS);
  return {
    close: () => {
      clearInterval(timer);
      drain();
      closeSync(fd);
    },
  };
}

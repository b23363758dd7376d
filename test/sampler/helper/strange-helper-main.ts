import { readFileSync, writeSync } from 'node:fs';
import { serveStandardStreams } from '../../../src/sampler/helper/standard-streams';
import { loadSettings } from '../../../src/record/settings';
import { pss } from '../../../src/sources/job/pss';
import { THIS_MACHINE, type OpenSource, type Place, type Source } from '../../../src/sources/source';

/** A helper process with sources that hang, crash and lie, and with another /proc: `[sources.place] proc = "..."`. */

function source(
  name: string,
  options: Source['options'],
  read: (place: Place) => ReturnType<OpenSource['read']>,
): Source {
  return {
    name,
    reads: [],
    metrics: [],
    blocking: true,
    interval: 1,
    enabled: true,
    options,
    open: (place) => ({ read: () => read(place), close: () => undefined }),
  };
}

const reading = (metric: string, value: number): { metric: string; instance: string; value: number } => ({
  metric,
  instance: '',
  value,
});

function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

const settingsPath = process.argv[2] ?? '';
const table = loadSettings(settingsPath).sources.place;

serveStandardStreams(settingsPath, {
  nodeSources: [
    source('file', { path: '' }, ({ options }) => [
      // Hangs where the file is a FIFO.
      reading('file_bytes', readFileSync(String(options.path)).length),
    ]),
    source('good', { answer: 42 }, ({ options }) => [reading('good', Number(options.answer))]),
    source('pid', {}, () => [reading('pid', process.pid)]),
    source('slow', { ms: 0 }, ({ options }) => {
      sleep(Number(options.ms));
      return [reading('slow', 1)];
    }),
    source('throws', {}, () => {
      throw new Error('not\nmeant to');
    }),
    source('crashes', {}, () => {
      process.stderr.write('what a pity\n');
      process.exit(3);
    }),
    source('talks', {}, () => {
      writeSync(1, 'nonsense\n');
      return [];
    }),
    source('floods', {}, () => {
      const megabyte = Buffer.alloc(1 << 20, 'x');
      for (;;) writeSync(1, megabyte);
    }),
    source('lies', {}, () => [reading('lies', NaN)]),
    source('big', {}, () => Array.from({ length: 20_000 }, (_, index) => reading('big', index))),
    source('environment', {}, () =>
      Object.keys(process.env)
        .sort()
        .map((name) => reading(name, 1)),
    ),
  ],
  processSources: [
    pss,
    {
      ...pss,
      name: 'steps',
      options: { ms: 0, hangs_from: 0 },
      open: ({ options }) => ({
        read: (pids, about) => {
          for (const pid of pids) {
            about?.(pid);
            sleep(Number(options.hangs_from) > 0 && pid >= Number(options.hangs_from) ? 600_000 : Number(options.ms));
          }
          return pids.map((pid) => ({ metric: 'steps', instance: '', value: 1, pid }));
        },
        close: () => undefined,
      }),
    },
  ],
  place: { ...THIS_MACHINE, proc: typeof table?.proc === 'string' ? table.proc : '/proc' },
});

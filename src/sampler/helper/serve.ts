import {
  isUnavailable,
  unavailable,
  type OpenProcessSource,
  type OpenSource,
  type Place,
  type ProcessSource,
  type Reading,
  type Source,
  type Unavailable,
} from '../../sources/source';
import { reasonOf } from '../../base/user-error';
import type { Settings } from '../../record/settings';
import { chooseSource } from '../source-settings';
import { answerLine, atLine, LONGEST_LINE, parseRequest, READY_LINE } from './protocol';

export interface Served {
  readonly nodeSources: readonly Source[];
  readonly processSources: readonly ProcessSource[];
  readonly place: Omit<Place, 'options'>;
  readonly settings: Settings;
}

/** Answers requests until `nextLine` gives null. Sources are opened by the first request for them, and then kept. */
export function serve(served: Served, nextLine: () => string | null, write: (line: string) => void): void {
  const nodeSources = new Map<string, OpenSource>();
  const processSources = new Map<string, OpenProcessSource>();
  const placeOf = (source: Source | ProcessSource): Place => ({
    ...served.place,
    options: chooseSource(source, served.settings).options,
  });

  function read(name: string, pids: readonly number[], about: (pid: number) => void): readonly Reading[] | Unavailable {
    const ofNode = served.nodeSources.find((source) => source.name === name);
    if (ofNode !== undefined) {
      const opened = kept(nodeSources, name, () => ofNode.open(placeOf(ofNode)));
      return isUnavailable(opened) ? opened : opened.read();
    }
    const ofProcesses = served.processSources.find((source) => source.name === name);
    if (ofProcesses === undefined) return unavailable(`no source named "${name}"`);
    const opened = kept(processSources, name, () => ofProcesses.open(placeOf(ofProcesses)));
    return isUnavailable(opened) ? opened : opened.read(pids, about);
  }

  write(READY_LINE);
  for (let line = nextLine(); line !== null; line = nextLine()) {
    const request = parseRequest(line);
    if (request === null) continue;
    const { id, source, pids = [] } = request;
    try {
      const answer = read(source, pids, (pid) => {
        write(atLine(id, pid));
      });
      const text = answerLine(id, answer);
      // The sampler kills a helper that writes a longer line.
      write(
        text.length <= LONGEST_LINE ? text : answerLine(id, unavailable(`source ${source} has too long an answer`)),
      );
    } catch (error) {
      write(answerLine(id, unavailable(`source ${source} failed: ${reasonOf(error)}`)));
    }
  }
  for (const source of [...nodeSources.values(), ...processSources.values()]) source.close();
}

/** A source that is not there yet is looked for again at the next request. */
function kept<T extends object>(opened: Map<string, T>, name: string, open: () => T | Unavailable): T | Unavailable {
  const before = opened.get(name);
  if (before !== undefined) return before;
  const source = open();
  if (!isUnavailable(source)) opened.set(name, source);
  return source;
}

import type { Bench } from './bench';
import { parseSections } from './live-parse';
import { screenSections } from './live-screen';

/** The live commands: reading what Grid Engine prints, and drawing it. */
export const liveBench: Bench = {
  name: 'live',
  about: "reading qstat's and qhost's answers, beside XML libraries; screens of 10,000 jobs",
  run: async (options) => [...(await parseSections(options)), ...(await screenSections(options))],
};

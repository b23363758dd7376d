/**
 * The real program on this process's own terminal, with the sample cluster for Grid Engine:
 * `node watch-program.js live --watch`. PROBLEM in the environment: every look at the cluster fails with it.
 */
import { processTerminal } from '../../../src/cli/terminal';
import { runProgram } from '../../../src/cli/program';
import { fakeLiveSources } from '../fake-live-sources';

const sources = fakeLiveSources();
const { PROBLEM } = process.env;
const failing = { ...sources, snapshot: () => Promise.reject(new Error(PROBLEM)) };

void runProgram([...process.argv.slice(2), '--config', '/dev/null'], '1.2.3', processTerminal, {
  sources: PROBLEM === undefined ? sources : failing,
}).then((status) => {
  process.exitCode = status;
});

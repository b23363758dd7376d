import { resolve } from 'node:path';
import { Helper } from '../../sampler/helper/helper';
import { helperDeadlines } from '../../sampler/source-settings';
import { taskstats } from '../../sources/events/exit-facts';
import { cgroupFacts } from '../../sources/job/cgroup';
import { perfFacts } from '../../sources/job/perf-metrics';
import { NODE_SOURCES, PROCESS_SOURCES } from '../../sources/registry';
import { THIS_MACHINE } from '../../sources/source';
import { checkCgroups } from './check-cgroups';
import { checkKernelEvents } from './check-kernel-events';
import { checkPerf } from './check-perf';
import { checkSources, checkSourceSettings } from './check-sources';
import type { Finding } from './finding';
import type { NodeState } from './node-state';

/** Checks what samplers can read on this machine: tries each source once, those that may block in a helper process. */
export async function checkMeasurement(state: NodeState): Promise<Finding[]> {
  const helper = new Helper({
    settingsPath: resolve(state.settingsPath),
    deadlineMs: helperDeadlines(NODE_SOURCES, state.settings),
  });
  try {
    const events = await checkKernelEvents(state);
    const { findings: perfFindings, perf } = checkPerf(state, THIS_MACHINE);
    const { findings: cgroupFindings, cgroup } = checkCgroups(state);
    const ofJob = new Map([
      [taskstats, events.taskstats],
      [cgroupFacts, cgroup],
      [perfFacts, perf],
    ]);
    const sources = await checkSources(state, ofJob, {
      ground: THIS_MACHINE,
      pid: process.pid,
      nodeSources: NODE_SOURCES,
      processSources: PROCESS_SOURCES,
      readBlocking: (source, pids) => helper.read(source, pids),
    });
    return [...checkSourceSettings(state), ...sources, ...events.findings, ...perfFindings, ...cgroupFindings];
  } finally {
    await helper.close();
  }
}

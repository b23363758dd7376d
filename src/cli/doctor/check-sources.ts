import type { Helper } from '../../sampler/helper/helper';
import { chooseSource, sourceSettingsProblems } from '../../sampler/source-settings';
import { readText } from '../../sources/files';
import { processes } from '../../sources/job/processes';
import { ALL_SOURCE_FACTS } from '../../sources/registry';
import {
  isUnavailable,
  unavailable,
  type ProcessSource,
  type Source,
  type SourceFacts,
  type Unavailable,
} from '../../sources/source';
import { findingsIn, type Finding } from './finding';
import type { NodeState } from './node-state';
import { describeReadings, probeSource, type SourcePlace } from './probe-source';

const { ok, note, warning, problem } = findingsIn('sources');

/** What a source finds here, in words, or why it is unavailable. */
export type SourceState = { readonly found: string } | Unavailable;

/** How the sources are probed; tests replace it with a made-up machine. */
export interface SourceProbes {
  readonly ground: SourcePlace;
  /** The process that the process sources are tried on. */
  readonly pid: number;
  readonly nodeSources: readonly Source[];
  readonly processSources: readonly ProcessSource[];
  /** Reads a source that may block, with a deadline. */
  readonly readBlocking: Helper['read'];
}

type Asking = Pick<NodeState, 'settings' | 'settingsPath'>;

/** Reports tables of the settings that no source understands, and which therefore have no effect. */
export function checkSourceSettings({ settings, settingsPath }: Asking): Finding[] {
  return sourceSettingsProblems(ALL_SOURCE_FACTS, settings).map((says) =>
    problem('settings', `${settingsPath}: ${says}; as if it were not there`, 'fix or remove that line'),
  );
}

function budget({ settings, settingsPath }: Asking): Finding {
  const { cpu_budget_percent: percent, interval } = settings;
  return ok(
    'CPU budget',
    `a sampler that needs more than ${percent} % of one core samples less often than every ${interval} s (cpu_budget_percent in ${settingsPath})`,
  );
}

/** The finding for one source. That this machine lacks it is no fault unless the settings switch it on by name. */
export function sourceFinding(source: SourceFacts, state: SourceState | 'empty', asking: Asking): Finding {
  const { settings, settingsPath } = asking;
  const { name } = source;
  const { enabled, intervalMs } = chooseSource(source, settings);
  if (!enabled)
    return note(
      name,
      source.enabled ? 'switched off' : 'off unless it is switched on',
      `set enabled = true below [sources.${name}] in ${settingsPath}`,
    );
  if (state === 'empty') return ok(name, `can be read, every ${intervalMs / 1000} s; there is nothing at present`);
  if (!isUnavailable(state)) return ok(name, `${state.found}; every ${intervalMs / 1000} s`);
  const says = `unavailable: ${state.unavailable}`;
  if (settings.sources[name]?.enabled !== true) return note(name, says, state.fix);
  return warning(name, says, state.fix ?? `take enabled = true below [sources.${name}] out of ${settingsPath}`);
}

/** Whether the files of a process that the sampler itself reads can be read, tried on one process. */
export function processState(proc: string, pid: number): SourceState {
  const missing = ['stat', 'statm', 'status', 'io'].filter((name) => readText(`${proc}/${pid}/${name}`) === null);
  if (missing.length === 0) return { found: 'everything can be read' };
  if (missing.join() === 'io') return { found: 'all but input and output, which this kernel does not count' };
  return unavailable(`no ${proc}/PID/${missing.join(', ')}`, 'mount /proc');
}

/** Reads a source once; `pids`: the processes that it is tried on, for a source of processes. */
async function tryOnce(
  source: Source | ProcessSource,
  settings: NodeState['settings'],
  { ground, readBlocking }: SourceProbes,
  pids?: readonly number[],
): Promise<SourceState | 'empty'> {
  if (!chooseSource(source, settings).enabled) return 'empty';
  const { opened, answer } = source.blocking
    ? { opened: false, answer: await readBlocking(source.name, pids) }
    : probeSource(source, ground, settings, pids);
  if (!isUnavailable(answer))
    return answer.length === 0 ? 'empty' : { found: describeReadings(source.metrics, answer) };
  // The source works, but the process that it was tried on has nothing to read.
  return opened && pids !== undefined && answer.fix === null
    ? { found: `can be read; of doctor itself nothing: ${answer.unavailable}` }
    : answer;
}

/**
 * Whether each source is available or off, or why it is not. The states of sources for a job as a whole come from their
 * own checks (`ofJob`); the other sources are read once. Does not reject.
 */
export async function checkSources(
  asking: Asking,
  ofJob: ReadonlyMap<SourceFacts, SourceState>,
  probes: SourceProbes,
): Promise<Finding[]> {
  const { ground, pid, nodeSources, processSources } = probes;
  const findings = [budget(asking)];
  const own = processState(ground.proc, pid);
  for (const [source, state] of [[processes, own] as const, ...ofJob])
    findings.push(sourceFinding(source, state, asking));
  for (const source of processSources)
    findings.push(sourceFinding(source, await tryOnce(source, asking.settings, probes, [pid]), asking));
  for (const source of nodeSources)
    findings.push(sourceFinding(source, await tryOnce(source, asking.settings, probes), asking));
  return findings;
}

import { existsSync } from 'node:fs';
import { listenerPaths } from '../../sampler/listener/directory';
import { runningListener, settingsDigest } from '../../sampler/listener/running';
import { kernelEventsFix, ROOT_FIX } from '../../sources/events/kernel-events';
import { proveKernelEvents, type KernelEventsProof } from '../../sources/events/prove-kernel-events';
import { isUnavailable, unavailable, type Unavailable } from '../../sources/source';
import { LISTENER } from '../install/services';
import { askListener, type ListenerAnswer } from './ask-listener';
import type { SourceState } from './check-sources';
import { findingsIn, type Finding } from './finding';
import type { NodeState } from './node-state';

const { ok, note, warning } = findingsIn('kernel events');

type Asking = Pick<NodeState, 'settings' | 'settingsPath' | 'isRoot' | 'version'>;

const CAPABILITY_FIX =
  'give CAP_NET_ADMIN to execd, whose hooks start the listener (in a container: --cap-add NET_ADMIN)';
const COST = 'no peak can be proved';

const KINDS = ['fork', 'exec', 'exit'] as const;

/** The reason with a fix for the reader of doctor's output, where the hooks' own fix is to run as root. */
function forReader(why: Unavailable, isRoot: boolean): Unavailable {
  return why.fix === ROOT_FIX ? { ...why, fix: isRoot ? CAPABILITY_FIX : 'run this as root' } : why;
}

/** Root hooks should receive kernel events: where they don't and there is a fix, root gets a warning, others a note. */
function unheard(name: string, why: Unavailable, cost: string, isRoot: boolean): Finding {
  const says = `unavailable: ${why.unavailable}; ${cost}`;
  const { fix } = forReader(why, isRoot);
  return (isRoot && fix !== null ? warning : note)(name, says, fix);
}

function processEvents({ processEvents: state, arrived }: KernelEventsProof, isRoot: boolean): Finding {
  if (!isUnavailable(state)) return ok('process events', 'fork, exec and exit of an own child arrived');
  const some = KINDS.filter((kind) => arrived[kind]);
  const others = KINDS.filter((kind) => !arrived[kind]);
  const partly = some.length === 0 ? '' : ` (${some.join(', ')} arrived, ${others.join(', ')} did not)`;
  return unheard('process events', { ...state, unavailable: `${state.unavailable}${partly}` }, COST, isRoot);
}

function exitRecords({ exitRecords: state }: KernelEventsProof, isRoot: boolean): Finding {
  return isUnavailable(state)
    ? unheard('exit records', state, `${COST}, and processes between two samples go unseen`, isRoot)
    : ok('exit records', 'the record of an own child arrived');
}

function delayAccounting({ delayAccounting: state }: KernelEventsProof): Finding {
  return isUnavailable(state)
    ? note(
        'delay accounting',
        'off: of the delays of a job only that for a CPU is known',
        'sysctl kernel.task_delayacct=1 (for processes that start afterwards), or boot with delayacct',
      )
    : ok('delay accounting', 'on');
}

export function proofFindings(proof: KernelEventsProof, isRoot: boolean): Finding[] {
  return [processEvents(proof, isRoot), exitRecords(proof, isRoot), delayAccounting(proof)];
}

const START = `run "qmemacct install --node", or "systemctl restart ${LISTENER.name}"`;

function noListener({ settings, version }: Pick<Asking, 'settings' | 'version'>): Finding {
  if (settings.listener_linger !== Infinity)
    return note(
      'listener',
      `none runs now: the first sampler starts it, it stays ${settings.listener_linger} s after the last one, and the job that it comes too late for is not proved`,
      'leave listener_linger out, and run "qmemacct install --node"',
    );
  if (version === null) return note('listener', 'none runs: "qmemacct install --node" starts it');
  return warning(
    'listener',
    'none runs: the first fork of the next job goes unheard, and its peak is not proved',
    START,
  );
}

function saysHello(hello: Extract<ListenerAnswer, { kind: 'hello' }>, { settings, settingsPath }: Asking): Finding {
  const reasons = [...new Set([hello.events, hello.records])].filter((reason) => reason !== null);
  if (reasons.length > 0) {
    const why = reasons.join('; ');
    const { fix } = forReader(unavailable(why, kernelEventsFix(why)), true);
    return warning('listener', `runs, but does not get all events: ${why}; ${COST}`, fix);
  }
  const running = runningListener(settings);
  if (running !== null && running.settings !== settingsDigest(settings))
    return warning('listener', `process ${running.pid} runs with other settings than ${settingsPath} has now`, START);
  const pid = running === null ? '' : `process ${running.pid} `;
  if (hello.stays) return ok('listener', `${pid}runs also between jobs, and receives events and exit records`);
  if (settings.listener_linger !== Infinity) return ok('listener', `${pid}runs, and receives events and exit records`);
  return warning('listener', `${pid}runs under the limits of a job that started it, and ends after it`, START);
}

export function listenerFinding(answer: ListenerAnswer, asking: Asking): Finding {
  const { settings } = asking;
  switch (answer.kind) {
    case 'none':
      return noListener(asking);
    case 'denied':
      return note('listener', 'only root can ask it', 'run this as root');
    case 'silent':
      return warning(
        'listener',
        `${listenerPaths(settings).socket} does not answer: ${answer.why}; ${COST}`,
        'end the process that holds its lock; another one is started then',
      );
    case 'hello':
      return saysHello(answer, asking);
    default:
      return answer;
  }
}

/** sun_path of unix(7) less its NUL, less 1 as the listener first opens DIRECTORY/PID; Node cuts off longer paths. */
const MOST_SOCKET_BYTES = 106;

function socketPath(path: string, settingsPath: string): Finding[] {
  const bytes = Buffer.byteLength(path);
  if (bytes <= MOST_SOCKET_BYTES) return [];
  const says = `${path} has ${bytes} bytes, and a socket's name at most ${MOST_SOCKET_BYTES}; ${COST}`;
  return [warning('listener', says, `choose a shorter run_dir in ${settingsPath}`)];
}

function taskstatsState(
  { processEvents: events, exitRecords: records }: KernelEventsProof,
  isRoot: boolean,
): SourceState {
  if (isUnavailable(events)) return forReader(events, isRoot);
  if (isUnavailable(records)) return forReader(records, isRoot);
  return { found: 'fork, exec, exit and exit record of an own child arrived' };
}

/** Proves with a child of its own that fork, exec and exit events arrive; if none arrive, they are "unavailable". */
export async function checkKernelEvents(
  asking: Asking,
  prove: (namespacePath: string | null) => Promise<KernelEventsProof> = proveKernelEvents,
  ask: (path: string) => Promise<ListenerAnswer> = askListener,
): Promise<{ readonly findings: readonly Finding[]; readonly taskstats: SourceState }> {
  const { settings, settingsPath, isRoot } = asking;
  if (!settings.listener) {
    const fix = `set listener = true in ${settingsPath}`;
    return {
      findings: [
        note('listener', `switched off: ${COST}`, fix),
        note('taskstats', existsSync('/proc/sys/kernel/task_delayacct') ? 'present' : 'not seen'),
      ],
      taskstats: unavailable('the listener is switched off', fix),
    };
  }
  const { initial_network_namespace: namespace } = settings;
  const proof = await prove(namespace === '' ? null : namespace);
  const { socket } = listenerPaths(settings);
  const answer = await ask(socket);
  return {
    findings: [...proofFindings(proof, isRoot), ...socketPath(socket, settingsPath), listenerFinding(answer, asking)],
    taskstats: taskstatsState(proof, isRoot),
  };
}

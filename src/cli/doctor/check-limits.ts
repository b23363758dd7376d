import { join } from 'node:path';
import { ROOT_ALONE } from '../../base/trusted-path';
import { daemons } from '../../gridengine/daemons';
import { readText } from '../../sources/files';
import { findingsIn, type Finding } from './finding';

const { ok, note, warning } = findingsIn('limits');

const CAPABILITY = { SYS_PTRACE: 19, NET_ADMIN: 12, SYS_RESOURCE: 24 } as const;

/** A set of capabilities in a `/proc/PID/status`; null: no such line. */
function capabilitiesIn(status: string, set: 'CapEff' | 'CapPrm'): bigint | null {
  const digits = new RegExp(`^${set}:\\s*([0-9a-f]+)$`, 'm').exec(status)?.[1];
  return digits === undefined ? null : BigInt(`0x${digits}`);
}

/** The capabilities of root hooks: those of execd; if no execd runs, our own as root. */
function capabilitiesOfHooks(
  procRoot: string,
  isRoot: boolean,
): { readonly whose: string; readonly set: bigint } | null {
  const execd = daemons(ROOT_ALONE, procRoot).find(({ name }) => name === 'sge_execd');
  // As execd mostly acts as the admin user, its effective set is empty then; the permitted set is what it can regain.
  const permitted = capabilitiesIn(execd?.status ?? '', 'CapPrm');
  if (permitted !== null) return { whose: 'execd', set: permitted };
  const own = isRoot ? capabilitiesIn(readText(join(procRoot, 'self', 'status')) ?? '', 'CapEff') : null;
  return own === null ? null : { whose: 'root here', set: own };
}

/** Checks by capabilities which limits of a job the hooks can lift, and what they can see. */
export function checkLimits(isRoot: boolean, procRoot = '/proc'): Finding[] {
  const found = capabilitiesOfHooks(procRoot, isRoot);
  if (found === null) return [note('capabilities', 'not known: no execd runs here; run this as root')];
  const has = (capability: keyof typeof CAPABILITY): boolean =>
    (found.set & (1n << BigInt(CAPABILITY[capability]))) !== 0n;
  return [
    has('SYS_RESOURCE')
      ? ok('CAP_SYS_RESOURCE', `${found.whose} has it: a job's limits are lifted for its sampler`)
      : warning(
          'CAP_SYS_RESOURCE',
          `${found.whose} lacks it: limits can't be lifted; jobs with an h_vmem below 1 GiB are sampled in the small mode, below 140 MiB not at all, and small descriptor limits may end a sampler`,
          'give it to execd where that is allowed (containers: --cap-add SYS_RESOURCE)',
        ),
    has('SYS_PTRACE')
      ? ok('CAP_SYS_PTRACE', `${found.whose} has it: I/O and memory maps of every process can be read`)
      : warning(
          'CAP_SYS_PTRACE',
          `${found.whose} lacks it: no I/O figures of other users' processes`,
          'give it to execd',
        ),
    has('NET_ADMIN')
      ? ok('CAP_NET_ADMIN', `${found.whose} has it: fork, exec and exit events are available`)
      : warning(
          'CAP_NET_ADMIN',
          `${found.whose} lacks it: no exit records of the kernel, before Linux 6.6 no events either; no peak can be proved`,
          'give it to execd (containers: --cap-add NET_ADMIN)',
        ),
  ];
}

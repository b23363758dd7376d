/** What it can be called in the configuration, and in what is sent. */
export const DIALECTS = ['sge6.2', 'ogs', 'sge8.1.9', 'daimh', 'univa', 'ocs', 'unknown'] as const;

/**
 * The kinds of Grid Engine that differ in what we read or rely on. `sge6.2` is 6.0 to 6.2u5, `sge8.1.9` is Son of Grid Engine, `daimh` the fork
 * of it that is maintained today, `univa` also Altair Grid Engine, `ocs` Open Cluster Scheduler and Gridware Cluster
 * Scheduler.
 */
export type Dialect = (typeof DIALECTS)[number];

interface DialectEvidence {
  /**
   * First line of `qconf -help` or `qstat -help`: `SGE 8.1.9`, `GE 6.2u5`, `OGS/GE 2011.11p1`, `UGE 8.6.6`, `OCS
   * 9.0.2`.
   */
  readonly helpFirstLine?: string;
  /** The schema address in the root element of `qstat -xml`. */
  readonly xmlSchema?: string;
}

export interface DetectedDialect {
  readonly dialect: Dialect;
  /** The version as printed: `8.1.9`, `6.2u5`; null if the evidence names none. */
  readonly version: string | null;
}

export function detectDialect(evidence: DialectEvidence): DetectedDialect {
  const line = evidence.helpFirstLine?.trim() ?? '';
  const version = /\b(\d{1,4}\.\d[\w.]*)/.exec(line.slice(0, 200))?.[1] ?? null;
  const dialect = dialectOfHelp(line, version);
  return { dialect: dialect === 'unknown' ? dialectOfSchema(evidence.xmlSchema ?? '') : dialect, version };
}

function dialectOfHelp(line: string, version: string | null): Dialect {
  if (/^(OCS|GCS)\b|Open Cluster Scheduler|Gridware/i.test(line)) return 'ocs';
  if (/^(UGE|AGE)\b|Univa|Altair/i.test(line)) return 'univa';
  if (/^OGS\b/i.test(line) || /^S?GE 2011\./.test(line)) return 'ogs';
  if (version === null || !/^(N1)?S?GE\b/i.test(line)) return 'unknown';
  if (/^6\.[0-2]/.test(version)) return 'sge6.2';
  // Univa's open core called itself GE, Son of Grid Engine and its fork SGE.
  if (version.startsWith('8.0')) return /^GE\b/i.test(line) ? 'univa' : 'sge8.1.9';
  const patch = /^8\.1\.(\d+)/.exec(version)?.[1];
  if (patch !== undefined) return Number(patch) >= 10 ? 'daimh' : 'sge8.1.9';
  return 'unknown';
}

/** Until 6.2u4 the root element names no schema of Grid Engine's own. */
const XML_SCHEMA = 'http://www.w3.org/2001/XMLSchema';

/** The daimh fork keeps the addresses of 8.1.9. */
function dialectOfSchema(schema: string): Dialect {
  if (schema.includes('clusterscheduler')) return 'ocs';
  if (schema.includes('univa.com') || schema.includes('github.com/gridengine/gridengine')) return 'univa';
  if (schema.includes('gridscheduler')) return 'ogs';
  if (schema.includes('arc.liv.ac.uk')) return 'sge8.1.9';
  if (schema.includes('gridengine.sunsource.net') || schema.trim() === XML_SCHEMA) return 'sge6.2';
  return 'unknown';
}

/**
 * What an accounting line says of a job that execd killed for a limit, where it says so of every one; without it, no
 * limit of Grid Engine's did it. null: not known.
 */
export const LIMIT_SAYING: Readonly<Record<Dialect, string | null>> = {
  'sge6.2': null,
  ogs: null,
  'sge8.1.9': '37',
  daimh: '37',
  univa: null,
  ocs: 'deleted by execd',
  unknown: null,
};

/**
 * Whether execd kills a job whose processes together hold more resident memory than h_rss, and sends SIGXCPU above
 * s_rss. Elsewhere these are RLIMIT_RSS alone, which Linux ignores. null: not known.
 */
export const ENFORCES_RSS: Readonly<Record<Dialect, boolean | null>> = {
  'sge6.2': false,
  ogs: false,
  'sge8.1.9': false,
  daimh: false,
  univa: null,
  ocs: true,
  unknown: null,
};

/**
 * Whether a process of a `qrsh -inherit` task may have the address space of one slot alone, where others let it have that
 * of all slots on its host.
 */
export function limitsTasksToASlot(dialect: Dialect): boolean {
  return dialect === 'ocs';
}

/** Whether an accounting line names who deleted the job (`deleted_by`), a limit's execd too. */
export function tellsWhoDeletes(dialect: Dialect): boolean {
  return dialect === 'ocs';
}

/**
 * Whether the shepherd keeps LD_* and the like, which the job's owner chooses, from a hook of root
 * (libs/uti2/sge_execvlp.c, in Son of Grid Engine from 8.1 on and in its fork). Open Cluster Scheduler and Univa only
 * refuse LD_PRELOAD and LD_LIBRARY_PATH at submission: LD_AUDIT passes. What is not known counts as no.
 */
const SANITISES_ROOT_HOOKS: Readonly<Record<Dialect, boolean>> = {
  'sge6.2': false,
  ogs: false,
  'sge8.1.9': true,
  daimh: true,
  univa: false,
  ocs: false,
  unknown: false,
};

export function sanitisesRootHooks({ dialect, version }: DetectedDialect): boolean {
  return SANITISES_ROOT_HOOKS[dialect] && version?.startsWith('8.0') !== true;
}

import { readConfiguration } from '../../../src/gridengine/configuration';
import type { Site } from '../../../src/gridengine/site';
import type { Change } from '../../../src/cli/install/hook-plan';

/** As `qconf -sconf` of 8.1.9 prints it with SGE_SINGLE_LINE=1, shortened. */
export const globalText = (prolog = 'none', epilog = 'none'): string => `#global:
execd_spool_dir              /var/spool/gridengine/execd
mailer                       /bin/true
load_sensor                  none
prolog                       ${prolog}
epilog                       ${epilog}
shell_start_mode             posix_compliant
reporting_params             accounting=true reporting=false flush_time=00:00:15 joblog=false sharelog=00:00:00
gid_range                    65400-65500
`;

/** As `qconf -sconf HOST` prints it. */
export const hostText = (lines = ''): string => `#ge1:
gid_range                    41000-41499
${lines}
`;

/** As `qconf -sq all.q` prints it, shortened. */
export const queueText = (prolog = 'NONE', epilog = 'NONE'): string => `qname                 all.q
hostlist              @allhosts
slots                 64
shell                 /bin/bash
prolog                ${prolog}
epilog                ${epilog}
shell_start_mode      posix_compliant
h_vmem                INFINITY
`;

export interface SiteTexts {
  readonly global?: string;
  readonly locals?: Readonly<Record<string, string>>;
  readonly queue?: string;
}

/** Execution hosts ge1 and ge2, both in @allhosts and all.q; ge2 in @late. */
export function siteOf({ global = globalText(), locals = {}, queue = queueText() }: SiteTexts = {}): Site {
  const hosts = ['ge1', 'ge2'];
  return {
    global: readConfiguration(global),
    locals: new Map(Object.entries(locals).map(([host, text]) => [host, readConfiguration(text)])),
    queues: new Map([['all.q', { configuration: readConfiguration(queue), hosts }]]),
    execHosts: hosts,
    groups: new Map([
      ['@allhosts', hosts],
      ['@late', ['ge2']],
    ]),
  };
}

/** Changes as one line each: "queue all.q prolog: NEW". */
export function briefly(changes: readonly Change[]): string[] {
  return changes.map(({ target, stage, new: value }) => {
    const name = target.kind === 'global' ? 'global' : `${target.kind} ${target.name}`;
    return `${name} ${stage}: ${value ?? '(not set)'}`;
  });
}

export const DIRECTORY = '/opt/qmemacct/current/hooks';

/** Our line, with a site's hook behind it. */
export function ourLine(stage: 'prolog' | 'epilog', original?: string): string {
  const line = `root@/usr/bin/env -i /bin/sh -p ${DIRECTORY}/${stage}.sh $job_id $ja_task_id`;
  return original === undefined ? line : `${line} -- ${original}`;
}

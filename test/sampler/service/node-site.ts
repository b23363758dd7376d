import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { servicePid } from '../../../src/sampler/service/service-lock';
import { newSite, type Site, type SiteOptions } from '../fake-shepherd';
import { until } from '../../support/until';

/** A private installation whose scope is the node. */
export function nodeSite(t: TestContext, options: SiteOptions = {}): Site {
  const site = newSite(t, {
    armWait: 0.05,
    ...options,
    settings: ['scope = "node"', 'scan_interval = 5', ...(options.settings ?? [])],
    conf: { scope: 'node', ...options.conf },
  });
  mkdirSync(join(site.directory, 'active_jobs'), { recursive: true });
  const text = readFileSync(site.settings, 'utf8');
  writeFileSync(site.settings, `${text}execd_spool_dir = "${join(site.directory, 'spool')}"\n`);
  return site;
}

/** The pid of the site's service; null: none runs. */
export const servicePidOf = ({ runDir }: Site): number | null => servicePid({ run_dir: runDir });

/** Starts the service as its unit does, and resolves to its pid once it runs. */
export async function startService(site: Site): Promise<number> {
  spawn('/bin/sh', ['-p', join(site.hooks, 'sampler.sh')], {
    stdio: 'ignore',
    detached: true,
    env: { PATH: '/usr/bin:/bin' },
  }).unref();
  return until(() => servicePidOf(site), 'the service');
}

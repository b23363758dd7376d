import { setTimeout as sleep } from 'node:timers/promises';
import { described, integer, list, nullable, number, object, oneOf, string, type ValueOf } from '../../base/shape';
import { JSON_TYPE, makeBody } from '../http/body';
import type { AccountingService } from '../accounting/accounting-thread';
import type { LiveCluster } from '../live/live-state';
import { route } from './route';

/** The server's own health. */
export const healthShape = object({
  status: oneOf(['ok', 'degraded']),
  version: string,
  startedAt: described(integer(), 'ms since the epoch'),
  live: object({
    at: described(nullable(integer()), 'when the oldest part of the running cluster was asked for; ms since the epoch'),
    ageSeconds: nullable(number()),
    problems: list(string),
  }),
  accounting: object({ problem: nullable(string) }),
});

function problemsOf(live: LiveCluster | null): readonly string[] {
  if (live === null) return ['qmaster has not answered yet'];
  if (live.view !== null) return live.view.problems;
  const { hosts, running, details } = live.snapshot;
  return [...new Set([hosts, running, details].flatMap(({ problem }) => problem ?? []))];
}

/** How long a DB that hangs is waited for. */
const RECHECK_MS = 1000;

/** Why the accounting DB can't be read. A known problem is checked again, since clients give up on what this says. */
async function problemNow(accounting: AccountingService): Promise<string | null> {
  if (accounting.problem() !== null) await Promise.race([accounting.probe(), sleep(RECHECK_MS)]);
  return accounting.problem();
}

export const healthRoute = route({
  path: '/v1/health',
  description: 'whether the server has what it needs; status 200 as long as it answers at all',
  parameters: {},
  schema: healthShape.schema,
  answer: async ({ site, now }) => {
    const live = site.live.current();
    const at = live?.view?.at ?? null;
    const problems = problemsOf(live);
    const problem = await problemNow(site.accounting);
    const health: ValueOf<typeof healthShape> = {
      status: problems.length === 0 && problem === null ? 'ok' : 'degraded',
      version: site.version,
      startedAt: site.startedAt,
      live: { at, ageSeconds: at === null ? null : Math.max(0, Math.round((now - at) / 1000)), problems },
      accounting: { problem },
    };
    return { body: makeBody(JSON_TYPE, `${JSON.stringify(health)}\n`), maxAge: 0 };
  },
});

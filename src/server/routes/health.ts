import { JSON_TYPE, makeBody } from '../http/body';
import type { LiveCluster } from '../live/live-state';
import { route } from './route';
import { epochMs, list, nullable, number, object, text, word } from './schema';

/** How the server itself is. */
interface Health {
  readonly status: 'ok' | 'degraded';
  readonly version: string;
  readonly startedAt: number;
  readonly live: {
    /** When the oldest part of the running cluster was asked for. */
    readonly at: number | null;
    readonly ageSeconds: number | null;
    readonly problems: readonly string[];
  };
  readonly accounting: { readonly problem: string | null };
}

function problemsOf(live: LiveCluster | null): readonly string[] {
  if (live === null) return ['qmaster has not answered yet'];
  if (live.view !== null) return live.view.problems;
  const { hosts, running, details } = live.snapshot;
  return [...new Set([hosts, running, details].flatMap(({ problem }) => problem ?? []))];
}

export const healthRoute = route({
  path: '/v1/health',
  description: 'whether the server has what it needs; status 200 as long as it answers at all',
  parameters: {},
  type: JSON_TYPE,
  schema: object<Health>({
    status: word('ok', 'degraded'),
    version: text,
    startedAt: epochMs,
    live: object<Health['live']>({ at: nullable(epochMs), ageSeconds: nullable(number), problems: list(text) }),
    accounting: object<Health['accounting']>({ problem: nullable(text) }),
  }),
  problems: [],
  answer: ({ site, now }) => {
    const live = site.live.current();
    const at = live?.view?.at ?? null;
    const problems = problemsOf(live);
    const problem = site.accounting.problem();
    const health: Health = {
      status: problems.length === 0 && problem === null ? 'ok' : 'degraded',
      version: site.version,
      startedAt: site.startedAt,
      live: { at, ageSeconds: at === null ? null : Math.max(0, Math.round((now - at) / 1000)), problems },
      accounting: { problem },
    };
    return { body: makeBody(JSON_TYPE, `${JSON.stringify(health)}\n`), maxAge: 0 };
  },
});

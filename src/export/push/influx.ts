import type { SinkSettings } from '../../record/export-sinks';
import type { Point } from './point';
import { outcomeOf, tryPost, type Answer } from './post';
import type { Outcome, Sink } from './sink';

const MOST = 5000;

/**
 * Replaces backslashes and line ends: some servers take a backslash before certain characters for an escape, and every
 * line end starts a new line. Neither can be written in a way that all servers read alike.
 */
const harmless = (text: string): string => text.replaceAll('\\', '/').replaceAll(/[\p{Cc}\p{Cs}\u2028\u2029]/gu, '_');
const escapeKey = (text: string): string => harmless(text).replaceAll(/[,= ]/g, '\\$&');

/** A point in InfluxDB's line protocol, its time in ms. Tags without a value, which it forbids, are left out. */
export function influxLine({ metric, labels, value, at }: Point): string {
  const tags = Object.entries(labels)
    .filter(([, text]) => text !== '')
    .map(([key, text]) => `,${escapeKey(key)}=${escapeKey(text)}`);
  return `${harmless(metric).replaceAll(/[, ]/g, '\\$&')}${tags.join('')} value=${value} ${Math.round(at)}\n`;
}

/** A refusal may concern only some lines: "partial write: ... dropped=2". */
function judge(answer: Answer, count: number): Outcome {
  const outcome = outcomeOf(answer, count);
  const [, dropped] = /partial write.*dropped=(\d+)/s.exec(answer.text) ?? [];
  if (outcome.kind !== 'sent' || outcome.refused === 0 || dropped === undefined) return outcome;
  return { ...outcome, refused: Math.min(count, Number(dropped)) };
}

/** InfluxDB, VictoriaMetrics ...: `/write?db=...` (v1) and `/api/v2/write?org=...&bucket=...` (v2) take equal lines. */
export function influxSink(settings: SinkSettings, patienceMs: number): Sink<Point> {
  const url = new URL(settings.address);
  url.searchParams.set('precision', 'ms');
  const posted = { url, type: 'text/plain; charset=utf-8', scheme: 'Token', patienceMs } as const;
  return {
    most: MOST,
    send: (points) =>
      tryPost(settings, { ...posted, body: points.map(influxLine).join('') }, (answer) => judge(answer, points.length)),
    // An empty body is accepted, or refused as bad data (400); either way the token was checked first.
    test: () => tryPost(settings, { ...posted, body: '' }, (answer) => outcomeOf(answer, 0)),
  };
}

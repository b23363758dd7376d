import type { SinkSettings } from '../../record/export-sinks';
import type { JobRecord } from '../../record/record';
import type { Point } from './point';

/** What became of a batch. */
export type Outcome =
  /** The server has the batch; `refused`: how many items it refused for good, `reason`: why, for one of them. */
  | { readonly kind: 'sent'; readonly refused: number; readonly reason: string }
  /** The server may have nothing of it: send the same batch again, after `waitMs` or later. */
  | { readonly kind: 'later'; readonly reason: string; readonly waitMs: number }
  /** The batch is too large: send fewer items at once. */
  | { readonly kind: 'too-large' };

/** A server that items are pushed to. Sending an item twice does no harm: each has its own id, or its own time. */
export interface Sink<Item> {
  /** The most items in one batch. */
  readonly most: number;
  /** Never rejects. */
  readonly send: (items: readonly Item[]) => Promise<Outcome>;
  /** Checks, without sending items, whether the server answers and accepts our login. */
  readonly test: () => Promise<Outcome>;
}

export const SENT: Outcome = { kind: 'sent', refused: 0, reason: '' };

export function later(reason: string, waitMs = 0): Outcome {
  return { kind: 'later', reason, waitMs };
}

/** How long a server may take for one batch. */
export const PATIENCE_MS = 30_000;

/** Opens a sink of metrics; loads only the code of its kind. */
export async function openMetricSink(settings: SinkSettings, patienceMs = PATIENCE_MS): Promise<Sink<Point>> {
  switch (settings.kind) {
    case 'influx':
      return (await import('./influx.js')).influxSink(settings, patienceMs);
    case 'otlp':
      return (await import('./otlp.js')).otlpSink(settings, patienceMs);
    case 'graphite':
    case 'graphite-pickle':
      return (await import('./graphite.js')).graphiteSink(settings, patienceMs);
    case 'elasticsearch':
      throw new RangeError(`${settings.name} takes records only`);
  }
}

/** Opens a sink of the records of ended jobs. */
export async function openRecordSink(settings: SinkSettings, patienceMs = PATIENCE_MS): Promise<Sink<JobRecord>> {
  return (await import('./elasticsearch.js')).elasticsearchSink(settings, patienceMs);
}

/**
 * The outcome for items that were all refused. If the sink refuses an empty request in the same words, the items are not
 * the cause: a proxy may refuse everything, or HTTP may be spoken to a server of HTTPS.
 */
async function refusedAll<Item>(sink: Sink<Item>, outcome: Outcome & { readonly kind: 'sent' }): Promise<Outcome> {
  const ofNone = await sink.test();
  if (ofNone.kind === 'later') return ofNone;
  return ofNone.kind === 'too-large' || ofNone.reason === outcome.reason ? later(outcome.reason) : outcome;
}

/**
 * Sends any number of items, as many at once as the sink takes. A single item that is too large counts as refused.
 * Stops at the first batch with the outcome `later`: all items are to be sent again then.
 */
export async function sendAll<Item>(sink: Sink<Item>, items: readonly Item[], most = sink.most): Promise<Outcome> {
  let refused = 0;
  let reason = '';
  for (let at = 0; at < items.length; at += most) {
    const part = items.slice(at, at + most);
    let outcome = await sink.send(part);
    if (outcome.kind === 'too-large')
      outcome =
        part.length === 1
          ? { kind: 'sent', refused: 1, reason: 'it is too large for the server' }
          : await sendAll(sink, part, Math.ceil(part.length / 2));
    if (outcome.kind === 'sent' && outcome.refused === part.length) outcome = await refusedAll(sink, outcome);
    if (outcome.kind !== 'sent') return outcome;
    refused += outcome.refused;
    reason ||= outcome.reason;
  }
  return { kind: 'sent', refused, reason };
}

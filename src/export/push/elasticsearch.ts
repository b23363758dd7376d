import { createHash } from 'node:crypto';
import { anything, boolean, checkJson, integer, list, object, optional, type ValueOf } from '../../base/shape';
import type { SinkSettings } from '../../record/export-sinks';
import { countedAt } from '../../record/facts';
import { PLAIN_COLUMNS, type ColumnType } from '../../record/plain-columns';
import { recordKeyText, type JobRecord } from '../../record/record';
import { outcomeOf, printableAnswer, tryPost, type Answer } from './post';
import { later, type Outcome, type Sink } from './sink';

const MOST = 500;

const MAPPINGS: Readonly<Record<ColumnType, object>> = {
  integer: { type: 'long' },
  real: { type: 'double' },
  // A longer text is kept, but not indexed.
  text: { type: 'keyword', ignore_above: 1024 },
  boolean: { type: 'boolean' },
  time: { type: 'date' },
  // Not indexed: users may choose the keys, and each would become a field of the index.
  json: { type: 'object', enabled: false },
};

/** The index template, for `PUT /_index_template/qmemacct`. */
export function indexTemplate(): object {
  const columns = PLAIN_COLUMNS.map(({ name, type }) => [name, MAPPINGS[type]] as const);
  const properties = { '@timestamp': MAPPINGS.time, ...Object.fromEntries(columns) };
  return { index_patterns: ['qmemacct*'], template: { mappings: { dynamic: false, properties } } };
}

/** The document id: the same for the same run, whenever and by whichever host it is sent. */
const idOf = (record: JobRecord): string => createHash('sha256').update(recordKeyText(record)).digest('base64url');

/** The two lines of a `_bulk` request for one record. */
export function bulkLines(record: JobRecord): string {
  const columns = PLAIN_COLUMNS.map(({ name, value }) => [name, value(record)] as const);
  const document = { '@timestamp': new Date(countedAt(record)).toISOString(), ...Object.fromEntries(columns) };
  return `${JSON.stringify({ create: { _id: idOf(record) } })}\n${JSON.stringify(document)}\n`;
}

const item = object({ create: object({ status: integer(100, 599), error: optional(anything) }) });
const answerShape = object({ errors: boolean, items: list(item, MOST) });
type Item = ValueOf<typeof item>['create'];

/** 409: the document exists already. */
const isDone = ({ status }: Item): boolean => status < 300 || status === 409;
const isRefused = ({ status }: Item): boolean => status === 400 || status === 413;

function judge(answer: Answer, count: number): Outcome {
  const outcome = outcomeOf(answer, count);
  if (outcome.kind !== 'sent') return outcome;
  // Elasticsearch refuses records one by one: a refusal of the whole may come from a proxy, so try again.
  if (outcome.refused > 0) return later(outcome.reason);
  const parsed = checkJson(answerShape, answer.text, 'its answer');
  if (!parsed.ok) return later(`${parsed.error}: is it Elasticsearch or OpenSearch?`);
  const items = parsed.value.items.map(({ create }) => create);
  if (items.length !== count) return later(`it answered for ${items.length} of ${count} records`);
  const open = items.find((one) => !isDone(one) && !isRefused(one));
  if (open !== undefined)
    return later(`status ${open.status} for a record: ${printableAnswer(JSON.stringify(open.error ?? ''))}`);
  const refused = items.filter(isRefused);
  const [first] = refused;
  return {
    kind: 'sent',
    refused: refused.length,
    reason: first === undefined ? '' : printableAnswer(JSON.stringify(first.error ?? '')),
  };
}

/** Sends records to an index of Elasticsearch or OpenSearch, each once: an existing id is not written again. */
export function elasticsearchSink(settings: SinkSettings, patienceMs: number): Sink<JobRecord> {
  const url = new URL(settings.address);
  url.pathname += '/_bulk';
  const posted = { url, type: 'application/x-ndjson', scheme: 'ApiKey', patienceMs } as const;
  return {
    most: MOST,
    send: (records) =>
      tryPost(settings, { ...posted, body: records.map(bulkLines).join('') }, (answer) =>
        judge(answer, records.length),
      ),
    // An empty bulk request is refused with 400, but only after the login was accepted.
    test: () => tryPost(settings, { ...posted, body: '\n' }, (answer) => outcomeOf(answer, 0)),
  };
}

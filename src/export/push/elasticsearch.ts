import { createHash } from 'node:crypto';
import { anything, boolean, checkJson, integer, list, object, optional, type ValueOf } from '../../base/shape';
import type { SinkSettings } from '../../record/export-sinks';
import { countedAt } from '../../record/facts';
import { PLAIN_COLUMNS, type ColumnType } from '../../record/plain-columns';
import { recordKeyText, type JobRecord } from '../../record/record';
import { outcomeOf, said, tryPost, type Answer } from './post';
import { later, type Outcome, type Sink } from './sink';

const MOST = 500;

const MAPPINGS: Readonly<Record<ColumnType, object>> = {
  integer: { type: 'long' },
  real: { type: 'double' },
  // What is longer is kept, and not searched.
  text: { type: 'keyword', ignore_above: 1024 },
  boolean: { type: 'boolean' },
  time: { type: 'date' },
  // Whose names users choose: each would be a field of the index.
  json: { type: 'object', enabled: false },
};

/** The index template, for `PUT /_index_template/qmemacct`. */
export function indexTemplate(): object {
  const columns = PLAIN_COLUMNS.map(({ name, type }) => [name, MAPPINGS[type]] as const);
  const properties = { '@timestamp': MAPPINGS.time, ...Object.fromEntries(columns) };
  return { index_patterns: ['qmemacct*'], template: { mappings: { dynamic: false, properties } } };
}

/** The same for the same run, whenever and by whomever it is sent. */
const idOf = (record: JobRecord): string => createHash('sha256').update(recordKeyText(record)).digest('base64url');

/** Two lines of `_bulk`. */
export function bulkLines(record: JobRecord): string {
  const columns = PLAIN_COLUMNS.map(({ name, value }) => [name, value(record)] as const);
  const document = { '@timestamp': new Date(countedAt(record)).toISOString(), ...Object.fromEntries(columns) };
  return `${JSON.stringify({ create: { _id: idOf(record) } })}\n${JSON.stringify(document)}\n`;
}

const item = object({ create: object({ status: integer(100, 599), error: optional(anything) }) });
const answerShape = object({ errors: boolean, items: list(item, MOST) });
type Item = ValueOf<typeof item>['create'];

/** 409: it is there already. */
const isDone = ({ status }: Item): boolean => status < 300 || status === 409;
const isRefused = ({ status }: Item): boolean => status === 400 || status === 413;

function judge(answer: Answer, count: number): Outcome {
  const outcome = outcomeOf(answer, count);
  if (outcome.kind !== 'sent') return outcome;
  // No record is refused but by name: what answers may be a proxy.
  if (outcome.refused > 0) return later(outcome.reason);
  const parsed = checkJson(answerShape, answer.text, 'its answer');
  if (!parsed.ok) return later(`${parsed.error}: is it Elasticsearch or OpenSearch?`);
  const items = parsed.value.items.map(({ create }) => create);
  if (items.length !== count) return later(`it answered for ${items.length} of ${count} records`);
  const open = items.find((one) => !isDone(one) && !isRefused(one));
  if (open !== undefined) return later(`status ${open.status} for a record: ${said(JSON.stringify(open.error ?? ''))}`);
  const refused = items.filter(isRefused);
  const [first] = refused;
  return {
    kind: 'sent',
    refused: refused.length,
    reason: first === undefined ? '' : said(JSON.stringify(first.error ?? '')),
  };
}

/** Records into an index of Elasticsearch or OpenSearch, each once: an id that is there is not written again. */
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
    // A bulk of nothing is refused (400), but only to whom it lets in.
    test: () => tryPost(settings, { ...posted, body: '\n' }, (answer) => outcomeOf(answer, 0)),
  };
}

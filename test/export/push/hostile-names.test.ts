import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { renderMetrics, type ExportedMetric } from '../../../src/export/prometheus/metric';
import { bulkLines } from '../../../src/export/push/elasticsearch';
import { graphitePart, graphiteValues } from '../../../src/export/push/graphite';
import { influxLine } from '../../../src/export/push/influx';
import { pointsOf, pointsOfText } from '../../../src/export/push/point';
import { job, T0 } from '../../accounting/suite/fixture';
import { AT, point, sinkOf } from './servers';
import { anyCharacter } from '../../support/any-character';

/** Possible names of jobs and accounts. */
const NASTY = [
  'a,b=c d',
  'x\n',
  'x 1 2\nevil 3 4',
  '\\',
  'a\\,b',
  '"}',
  '\u2028',
  '\ud800',
  '../..',
  '*',
  '{a,b}',
  '%',
  '.',
  '',
];
const hostile = fc.oneof(fc.constantFrom(...NASTY), fc.string({ unit: anyCharacter }), fc.string());

const isWellFormed = (text: string): boolean => !/\p{Cs}/u.test(text);

/** Key and value of each tag, as a server reads them: a backslash escapes a comma, an equals sign or a blank only. */
function readTags(line: string): ReadonlyMap<string, string> {
  const [head = ''] = line.split(/(?<!\\) /);
  const [, ...tags] = head.split(/(?<!\\),/);
  return new Map(
    tags.map((tag): [string, string] => {
      const [key = '', value = '', ...more] = tag.split(/(?<!\\)=/);
      assert.deepEqual(more, []);
      return [key, value.replaceAll(/\\([,= ])/g, '$1')];
    }),
  );
}

describe('a hostile name', () => {
  it('stays one tag of one line for InfluxDB', () => {
    fc.assert(
      fc.property(hostile, hostile, (owner, queue) => {
        const line = influxLine(point({ labels: { owner, queue, host: 'n' } }));
        assert.match(line, /^[^\n]+ value=8 \d+\n$/);
        assert.ok(!/[\p{Cc}\u2028\u2029]/u.test(line.slice(0, -1)));
        const tags = readTags(line);
        const plain = (text: string): string =>
          text.replaceAll('\\', '/').replaceAll(/[\p{Cc}\p{Cs}\u2028\u2029]/gu, '_');
        assert.deepEqual(
          [tags.get('owner') ?? '', tags.get('queue') ?? '', tags.get('host')],
          [plain(owner), plain(queue), 'n'],
        );
      }),
    );
  });

  it('stays one part of one path for Graphite, and differs from every other name', () => {
    const settings = sinkOf({ kind: 'graphite', address: 'tcp://localhost:1', what: 'node' });
    fc.assert(
      fc.property(hostile, hostile, (a, b) => {
        for (const text of [a, b]) assert.match(graphitePart(text), /^[\w:@=+%-]{1,200}$/);
        if (a !== b && isWellFormed(a + b)) assert.notEqual(graphitePart(a), graphitePart(b));
        const [value] = graphiteValues([point({ labels: { host: 'n', owner: a, queue: b } })], settings);
        assert.equal(value?.path.split('.').length, 5);
      }),
    );
  });

  it('stays in its document for Elasticsearch', () => {
    fc.assert(
      fc.property(hostile, hostile, (name, owner) => {
        const lines = bulkLines(job(1, T0, { job_name: name, owner })).split('\n');
        assert.equal(lines.length, 3);
        assert.equal(lines[2], '');
        const document = JSON.parse(lines[1] ?? '') as Readonly<Record<string, unknown>>;
        assert.deepEqual([document.job_name, document.owner, document.job_id], [name, owner, 1]);
      }),
    );
  });

  it('is the same in points made from metrics and from the text of /metrics', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(hostile, hostile, fc.double())), (rows) => {
        const metric: ExportedMetric<null> = {
          name: 'qmemacct_x_bytes',
          type: 'gauge',
          unit: 'bytes',
          help: 'of x\nand y',
          labels: ['owner', 'queue'],
          samples: () => rows.map(([owner, queue, value]) => ({ labels: [owner, queue], value })),
        };
        const frame = { labels: { site: 's' }, at: AT };
        assert.deepEqual(pointsOfText(renderMetrics([metric], null), [metric], frame), pointsOf([metric], null, frame));
      }),
    );
  });
});

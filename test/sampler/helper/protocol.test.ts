import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  answerLine,
  atLine,
  parseMessage,
  parseRequest,
  READY_LINE,
  requestLine,
} from '../../../src/sampler/helper/protocol';
import { unavailable } from '../../../src/sources/source';

describe('the lines between sampler and helper', () => {
  it('are parsed as they were written', () => {
    for (const request of [
      { id: 1, source: 'ipmi' },
      { id: 2, source: 'pss', pids: [] },
      { id: 3, source: 'pss', pids: [1, 4_194_304] },
    ])
      assert.deepEqual(parseRequest(requestLine(request)), request);
    const readings = [
      { metric: 'a_bytes', instance: 'x"y\n', value: 1.5 },
      { metric: 'pss_bytes', instance: '', value: 0, pid: 7 },
    ];
    assert.deepEqual(parseMessage(READY_LINE), { kind: 'ready' });
    assert.deepEqual(parseMessage(atLine(4, 4711)), { kind: 'at', id: 4, pid: 4711 });
    assert.deepEqual(parseMessage(answerLine(5, readings)), { kind: 'answer', id: 5, answer: readings });
    for (const fix of [null, 'load the module'])
      assert.deepEqual(parseMessage(answerLine(6, unavailable('no device', fix))), {
        kind: 'answer',
        id: 6,
        answer: { unavailable: 'no device', fix },
      });
    for (const line of [atLine(1, 2), answerLine(5, readings), requestLine({ id: 1, source: 'x' })])
      assert.equal(line.indexOf('\n'), line.length - 1);
  });

  it('are null where they are malformed', () => {
    for (const line of [
      '',
      'null',
      '7',
      '{}',
      '{"id":-1,"at":1}',
      '{"id":1.5,"readings":[]}',
      '{"id":1}',
      '{"id":1,"at":"2"}',
      '{"id":1,"readings":[null]}',
      '{"id":1,"readings":[{"metric":"a","instance":"","value":null}]}',
      '{"id":1,"readings":[{"metric":"a","instance":"","value":1,"pid":-1}]}',
      '{"id":1,"unavailable":"x"}',
      '{"id":1,"unavailable":1,"fix":null}',
    ])
      assert.equal(parseMessage(line), null, line);
    for (const line of [
      '',
      '[]',
      '{"id":1}',
      '{"id":1,"source":"pss","pids":[-1]}',
      '{"id":1,"source":"pss","pids":7}',
    ])
      assert.equal(parseRequest(line), null, line);
  });

  it('give finite values, and never throw, on any text', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc.json().map((text) => `{"id":1,"readings":${text}}`),
        ),
        (line) => {
          const message = parseMessage(line);
          if (message?.kind === 'answer' && Array.isArray(message.answer))
            for (const { value } of message.answer) assert.ok(Number.isFinite(value));
          parseRequest(line);
        },
      ),
    );
  });
});

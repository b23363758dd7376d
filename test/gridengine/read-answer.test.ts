import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readAnswer } from '../../src/gridengine/read-answer';
import type { AnswerEnd } from '../../src/gridengine/reading';
import { feed } from './feed';

/** Names of what was opened in either form, and the end. */
function read(answer: string, sizes?: readonly number[]): readonly [readonly string[], AnswerEnd] {
  const { items, end } = feed<string>(
    (tell) =>
      readAnswer({
        root: 'r',
        xml: { open: (name) => tell(`xml ${name}`), close: () => undefined },
        json: {
          open: (key) => tell(`json ${key}`),
          close: () => undefined,
          value: (key, value) => tell(`${key}=${value.text()}`),
        },
      }),
    answer,
    sizes,
  );
  return [items, end];
}

const end = (
  state: AnswerEnd['state'],
  said: string | null = null,
  dialect: AnswerEnd['dialect'] = 'unknown',
): AnswerEnd => ({
  state,
  said,
  dialect,
  unknownJobs: [],
});

describe('readAnswer', () => {
  it('tells XML and JSON by their first bytes, whatever stands before them', () => {
    const cases: readonly (readonly [string, readonly string[], AnswerEnd])[] = [
      ['<?xml version="1.0"?>\n<r><x/></r>', ['xml r', 'xml x'], end('complete')],
      ['{"a": 1}', ['json ', 'a=1'], end('complete', null, 'ocs')],
      ['warning: {old}\n\n  {"a": [2]}\n', ['json ', 'json a', '=2'], end('complete', 'warning: {old}', 'ocs')],
      ['warning: x\n<r>{"a":1}</r>', ['xml r'], end('complete', 'warning: x')],
      ['{"a": {"b": "<r>"', ['json ', 'json a', 'b=<r>'], end('truncated', null, 'ocs')],
      ['{"a": 1}\n{"b": 2}', ['json ', 'a=1'], end('complete', null, 'ocs')],
    ];
    for (const [answer, opened, ended] of cases) {
      assert.deepEqual(read(answer), [opened, ended], answer);
      assert.deepEqual(read(answer, [1]), [opened, ended], answer);
    }
  });

  it('tells nothing, a refusal and something else apart', () => {
    assert.equal(read('')[1].state, 'empty');
    assert.equal(read(' \n')[1].state, 'empty');
    const refused = 'error: commlib error: got select error (Connection refused)\n';
    assert.deepEqual(read(refused), [[], end('refused', refused.trim())]);
    assert.equal(read('hello\n')[1].state, 'foreign');
    assert.equal(read('<html><body>404</body></html>')[1].state, 'foreign');
  });

  it('knows the ids that do not exist where they are told as text', () => {
    assert.deepEqual(read('Following jobs do not exist: 12, 13\n')[1], {
      ...end('complete', 'Following jobs do not exist: 12, 13'),
      unknownJobs: ['12', '13'],
    });
  });
});

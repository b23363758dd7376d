import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AnswerCache } from '../../../src/server/http/answer-cache';
import { makeBody, type Body } from '../../../src/server/http/body';

describe('AnswerCache', () => {
  const make = (text: string) => (): Body => makeBody('text/plain', text);

  it('makes an answer once for each state and key', () => {
    const cache = new AnswerCache();
    const [first, second] = [{}, {}];
    const body = cache.get(first, 'a', make('1'));
    assert.equal(
      cache.get(first, 'a', () => assert.fail()),
      body,
    );
    assert.notEqual(cache.get(first, 'b', make('1')), body);
    assert.equal(cache.get(second, 'a', make('2')).bytes.toString(), '2');
    assert.equal(cache.get(first, 'a', make('3')).bytes.toString(), '3');
  });

  it('keeps no more than it may, the newest', () => {
    const cache = new AnswerCache();
    const state = {};
    const large = Buffer.alloc(40 * 1024 ** 2);
    const put = (key: string): Body => cache.get(state, key, () => makeBody('text/plain', large));
    const [a, b, c] = [put('a'), put('b'), put('c')];
    assert.equal(put('c'), c);
    assert.equal(put('b'), b);
    assert.notEqual(put('a'), a);
  });

  it('keeps no more keys than it may', () => {
    const cache = new AnswerCache();
    const state = {};
    const first = cache.get(state, 'first', make('x'));
    for (let index = 0; index < 1000; index++) cache.get(state, String(index), make('x'));
    assert.notEqual(cache.get(state, 'first', make('x')), first);
  });
});

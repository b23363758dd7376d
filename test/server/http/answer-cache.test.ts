import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AnswerCache } from '../../../src/server/http/answer-cache';
import { makeBody, type Body } from '../../../src/server/http/body';
import { RenderTurns } from '../../../src/server/http/render-turns';

const somebody = { key: 'uid 1001', gone: null };

describe('AnswerCache', () => {
  const make = (text: string) => (): Body => makeBody('text/plain', text);

  it('makes an answer once for each state and key', async () => {
    const cache = new AnswerCache(new RenderTurns());
    const get = (state: object, key: string, text: string): Promise<Body> =>
      cache.get(state, key, somebody, make(text));
    const [first, second] = [{}, {}];
    const body = await get(first, 'a', '1');
    assert.equal(await cache.get(first, 'a', somebody, () => assert.fail()), body);
    assert.notEqual(await get(first, 'b', '1'), body);
    assert.equal((await get(second, 'a', '2')).bytes.toString(), '2');
    assert.equal((await get(first, 'a', '3')).bytes.toString(), '3');
    // Of simultaneous callers, the first has the answer made for all.
    const asked = [get(first, 'c', '4'), cache.get(first, 'c', somebody, () => assert.fail())];
    assert.equal(new Set(await Promise.all(asked)).size, 1);
  });

  it('keeps no answer of an older state', async () => {
    const cache = new AnswerCache(new RenderTurns());
    const [old, newest] = [{}, {}];
    const late = cache.get(old, 'a', somebody, make('old'));
    const next = cache.get(newest, 'a', somebody, make('newest'));
    assert.equal((await late).bytes.toString(), 'old');
    assert.equal(await cache.get(newest, 'a', somebody, () => assert.fail()), await next);
  });

  it('gives a stored answer at once, ahead of those that must be made', async () => {
    const cache = new AnswerCache(new RenderTurns());
    const state = {};
    await cache.get(state, 'kept', somebody, make('x'));
    const order: string[] = [];
    const recorded = (key: string): Promise<unknown> =>
      cache.get(state, key, somebody, make('x')).then(() => order.push(key));
    await Promise.all([recorded('a'), recorded('b'), recorded('kept')]);
    assert.deepEqual(order, ['kept', 'a', 'b']);
  });

  it('keeps the newest answers up to a limit of bytes', async () => {
    const cache = new AnswerCache(new RenderTurns());
    const state = {};
    const large = Buffer.alloc(40 * 1024 ** 2);
    const put = (key: string): Promise<Body> => cache.get(state, key, somebody, () => makeBody('text/plain', large));
    const [a, b, c] = [await put('a'), await put('b'), await put('c')];
    assert.equal(await put('c'), c);
    assert.equal(await put('b'), b);
    assert.notEqual(await put('a'), a);
  });

  it('keeps answers up to a limit of keys', async () => {
    const cache = new AnswerCache(new RenderTurns());
    const state = {};
    const first = await cache.get(state, 'first', somebody, make('x'));
    for (let index = 0; index < 1000; index++) await cache.get(state, String(index), somebody, make('x'));
    assert.notEqual(await cache.get(state, 'first', somebody, make('x')), first);
  });
});

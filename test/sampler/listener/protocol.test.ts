import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { EXIT_FIELDS, type ExitAccount } from '../../../src/sampler/listener/exit-account';
import {
  decodeReply,
  decodeRequest,
  encodeReply,
  lineSplitter,
  type Reply,
  type Request,
} from '../../../src/sampler/listener/protocol';
import { anyCharacter } from '../../support/any-character';

const number = fc.maxSafeNat();
const plain = { noNullPrototype: true } as const;
const record = <T>(fields: { [Key in keyof T]: fc.Arbitrary<T[Key]> }): fc.Arbitrary<T> => fc.record<T>(fields, plain);
const kind = <Kind extends string>(name: Kind): fc.Arbitrary<Kind> => fc.constant(name);
const reason = fc.option(fc.string());
const readings = fc.array(record({ metric: fc.string(), instance: fc.string(), value: number }), { maxLength: 5 });

const account: fc.Arbitrary<ExitAccount> = fc
  .tuple(
    fc.array(number, { minLength: EXIT_FIELDS.length, maxLength: EXIT_FIELDS.length }),
    fc.integer(),
    fc.string({ unit: anyCharacter }),
    fc.boolean(),
    fc.boolean(),
  )
  .map(([figures, uid, command, final, whole]) => ({
    ...(Object.fromEntries(EXIT_FIELDS.map((field, index) => [field, figures[index] ?? 0])) as Record<
      (typeof EXIT_FIELDS)[number],
      number
    >),
    uid,
    command,
    final,
    whole,
  }));

const reply: fc.Arbitrary<Reply> = fc.oneof(
  record({ kind: kind('hello'), events: reason, records: reason, stays: fc.boolean() }),
  record({ kind: kind('fork'), at: number, parent: number, child: number, thread: number }),
  record({ kind: kind('exec'), at: number, pid: number }),
  record({
    kind: kind('exit'),
    at: number,
    pid: number,
    account: fc.option(account),
    oomKill: fc.constantFrom(null, 'cgroup' as const, 'node' as const),
  }),
  record({ kind: kind('lost'), what: fc.constantFrom('events' as const, 'records' as const) }),
  record({ kind: kind('synced'), id: number }),
  record({ kind: kind('values'), id: number, readings, unavailable: reason }),
  record({
    kind: kind('node'),
    id: fc.option(number),
    charges: fc.option(
      record({
        atMs: number,
        energy: readings,
        busyCpuSeconds: fc.option(number),
        cpuSeconds: fc.option(number),
        usedBytes: fc.option(number),
        idleWatts: fc.option(number),
        disagreement: reason,
      }),
    ),
    gpu: readings,
  }),
);

const request: fc.Arbitrary<Request> = fc.oneof(
  record({ kind: kind('follow'), pids: fc.array(number) }),
  record({ kind: fc.constantFrom('sync' as const, 'node' as const), id: number }),
  record({ kind: kind('read'), id: number, source: fc.string(), pids: fc.array(number) }),
  record({ kind: kind('retire') }),
);

/** Plain text, JSON that is no message, torn lines. */
const garbage = fc.oneof(
  fc.string(),
  fc.json(),
  fc.tuple(reply, fc.nat()).map(([one, cut]) => encodeReply(one).slice(0, cut % encodeReply(one).length)),
);

describe('replies', () => {
  it('are decoded as they were encoded, one line each', () => {
    fc.assert(
      fc.property(reply, (one) => {
        const line = encodeReply(one);
        assert.equal(line.indexOf('\n'), line.length - 1);
        assert.deepEqual(decodeReply(line), one);
      }),
      { numRuns: 1000 },
    );
  });

  it('decoded from any line are valid or null', () => {
    fc.assert(
      fc.property(garbage, (line) => {
        const decoded = decodeReply(line);
        if (decoded !== null) assert.deepEqual(decodeReply(encodeReply(decoded)), decoded);
      }),
      { numRuns: 2000 },
    );
    for (const line of [
      ...['', '{', 'null', '7', '"f"', '[]', '["f"]', '["f",1,2]', '["f",1,2,3]', '["f","a",2,3,4]', '["q",1,2]'],
      ...['{}', '{"kind":"fork"}', '{"kind":"synced"}', '{"kind":"values","id":1}', '{"kind":"node","id":1,"gpu":0}'],
      ...['{"kind":"hello"}', '{"kind":"lost","what":"sheep"}', '{"kind":"of a newer version"}'],
    ])
      assert.equal(decodeReply(line), null, line);
  });

  it('of an older version with fewer figures have 0 for the others', () => {
    const decoded = decodeReply('["e",5,7,null,1000,3,"a",2,9]');
    assert.ok(decoded?.kind === 'exit' && decoded.account !== null);
    assert.deepEqual([decoded.account.threads, decoded.account.threadExits, decoded.account.rssBytes], [2, 9, 0]);
    assert.deepEqual([decoded.account.final, decoded.account.whole], [true, true]);
  });
});

describe('requests', () => {
  it('are decoded as they were encoded', () => {
    fc.assert(fc.property(request, (one) => assert.deepEqual(decodeRequest(JSON.stringify(one)), one)));
  });

  it('decoded from any line are valid or null', () => {
    fc.assert(
      fc.property(garbage, (line) => {
        const decoded = decodeRequest(line);
        if (decoded !== null) assert.deepEqual(decodeRequest(JSON.stringify(decoded)), decoded);
      }),
    );
    for (const line of ['{"kind":"follow"}', '{"kind":"sync","id":"1"}', '{"kind":"read","id":1,"source":"pss"}'])
      assert.equal(decodeRequest(line), null, line);
  });
});

describe('lineSplitter', () => {
  it('finds the lines, however the stream is cut', () => {
    const line = fc.string({ minLength: 1, unit: anyCharacter }).filter((text) => !text.includes('\n'));
    fc.assert(
      fc.property(fc.array(line), fc.array(fc.nat(200)), (lines, cuts) => {
        const found: string[] = [];
        const take = lineSplitter((one) => found.push(one));
        const stream = lines.map((one) => `${one}\n`).join('');
        let at = 0;
        for (const cut of cuts) take(stream.slice(at, (at += cut)));
        take(stream.slice(at));
        assert.deepEqual(found, lines);
      }),
    );
  });

  it('drops a line that is too long', () => {
    const found: string[] = [];
    const take = lineSplitter((one) => found.push(one), 10);
    take('x'.repeat(100));
    take('\nshort\n');
    assert.deepEqual(found, ['short']);
  });
});

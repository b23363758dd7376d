import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  addSums,
  sumsOfGone,
  largest,
  NO_SUMS,
  totals,
  type Counters,
  type Sums,
} from '../../../src/sampler/processes/totals';
import { cpuMs } from '../../support/cpu-time';

function counters(parent: string | null, own: number, absorbed = 0): Counters {
  return {
    parent,
    cpu: own + absorbed,
    childCpu: absorbed,
    faults: 10 * (own + absorbed) + 1,
    childFaults: absorbed === 0 ? 0 : 10 * absorbed + 1,
    readChars: 2 * (own + absorbed),
    writtenChars: 3 * (own + absorbed),
    readBytes: 4 * (own + absorbed),
    writtenBytes: 5 * (own + absorbed),
  };
}

const sums = (cpu: number): Sums => ({
  cpu,
  readChars: 2 * cpu,
  writtenChars: 3 * cpu,
  readBytes: 4 * cpu,
  writtenBytes: 5 * cpu,
});

type Readings = ReadonlyMap<string, Counters>;

const readings = (entries: Readonly<Record<string, Counters>>): Readings => new Map(Object.entries(entries));
const NO_PROCESSES = readings({});

describe('totals', () => {
  it('are the counters of the living processes plus the sums of those that have gone', () => {
    assert.deepEqual(totals(NO_SUMS, NO_PROCESSES), NO_SUMS);
    assert.deepEqual(totals(sums(7), readings({ a: counters(null, 1, 2), b: counters('a', 4) })), sums(14));
  });

  it('that are merged take the larger value of each counter', () => {
    assert.deepEqual(largest(sums(5), sums(3)), sums(5));
    assert.deepEqual(largest({ ...sums(5), readBytes: 1 }, sums(3)), { ...sums(5), readBytes: 12 });
  });
});

describe('sumsOfGone', () => {
  it('is zero while all processes live', () => {
    const now = readings({ a: counters(null, 1), b: counters('a', 5) });
    assert.deepEqual(sumsOfGone(now, now, NO_PROCESSES), NO_SUMS);
  });

  it('is zero for a child that its parent waited for', () => {
    const before = readings({ a: counters(null, 1), b: counters('a', 5) });
    assert.deepEqual(sumsOfGone(before, readings({ a: counters(null, 1, 6) }), NO_PROCESSES), NO_SUMS);
  });

  it('is all that was used by a child that no process waited for', () => {
    const before = readings({ a: counters(null, 1), b: counters('a', 5) });
    assert.deepEqual(sumsOfGone(before, readings({ a: counters(null, 1) }), NO_PROCESSES), sums(5));
  });

  it('is all that was used by a process without a parent in the job', () => {
    const before = readings({ a: counters(null, 1), b: counters(null, 5, 2) });
    // Whatever `a` gained, it does not come from `b`.
    assert.deepEqual(sumsOfGone(before, readings({ a: counters(null, 1, 50) }), NO_PROCESSES), sums(7));
  });

  it('is all that the job used once all of it has gone', () => {
    const before = readings({ a: counters(null, 1), b: counters('a', 5), c: counters('b', 3) });
    assert.deepEqual(sumsOfGone(before, NO_PROCESSES, NO_PROCESSES), sums(9));
  });

  it('finds in the grandparent what a grandchild used', () => {
    const before = readings({ a: counters(null, 1), b: counters('a', 5), c: counters('b', 3) });
    assert.deepEqual(sumsOfGone(before, readings({ a: counters(null, 1, 8) }), NO_PROCESSES), NO_SUMS);
    // b ended without waiting for c: only b is in a.
    assert.deepEqual(sumsOfGone(before, readings({ a: counters(null, 1, 5) }), NO_PROCESSES), sums(3));
  });

  it('finds what went past a living ancestor to one further up', () => {
    const before = readings({ a: counters(null, 1), b: counters('a', 1), c: counters('b', 2), d: counters('c', 4) });
    const now = readings({ a: counters(null, 1, 4), b: counters('a', 1, 2) });
    assert.deepEqual(sumsOfGone(before, now, NO_PROCESSES), NO_SUMS);
  });

  it('does not use one gain for two processes', () => {
    const before = readings({ a: counters(null, 1), b: counters('a', 5), c: counters('a', 5) });
    assert.deepEqual(sumsOfGone(before, readings({ a: counters(null, 1, 5) }), NO_PROCESSES), sums(5));
  });

  it('does not count a busy child twice because an idle one had as many page faults', () => {
    const before = readings({
      a: counters(null, 1),
      busy: { ...counters('a', 1000), faults: 40 },
      idle: { ...counters('a', 1), faults: 50 },
    });
    const now = readings({ a: { ...counters(null, 1, 1000), childFaults: 60 } });
    assert.equal(sumsOfGone(before, now, NO_PROCESSES).cpu, 1);
  });

  it('uses the gain of a parent that was read again', () => {
    const before = readings({ a: counters(null, 1), b: counters('a', 5) });
    const now = readings({ a: counters(null, 1) });
    assert.deepEqual(sumsOfGone(before, now, readings({ a: counters(null, 1, 5) })), NO_SUMS);
  });

  it('terminates where the parents form a circle', () => {
    const before = readings({ a: counters('b', 1), b: counters('a', 2), c: counters('c', 3) });
    assert.deepEqual(sumsOfGone(before, NO_PROCESSES, NO_PROCESSES), sums(6));
  });
});

/** What `sumsOfGone` returns, by a search along the whole tree for every process. */
function plainSumsOfGone(before: Readings, now: Readings, reread: Readings): Sums {
  const aboveOf = (id: string): string[] => {
    const above: string[] = [];
    for (let next = before.get(id)?.parent ?? null; next !== null && !above.includes(next);) {
      above.push(next);
      next = before.get(next)?.parent ?? null;
    }
    return above.filter((one) => now.has(one));
  };
  const latest = (id: string): Counters | undefined => reread.get(id) ?? now.get(id);
  const gain = (id: string, of: keyof Sums | 'childCpu' | 'childFaults'): number =>
    (latest(id)?.[of] ?? 0) - (before.get(id)?.[of] ?? 0);
  let lacking = NO_SUMS;
  const claims = new Map<string, Sums>([...now.keys()].map((id) => [id, NO_SUMS]));
  const claim = (nearest: string | undefined, some: Sums): void => {
    if (nearest === undefined) lacking = addSums(lacking, some);
    else claims.set(nearest, addSums(claims.get(nearest) ?? NO_SUMS, some));
  };
  for (const [id, gone] of before) {
    if (now.has(id)) continue;
    const above = aboveOf(id);
    const explained = gone.faults <= above.reduce((sum, one) => sum + gain(one, 'childFaults'), 0);
    claim(explained ? above[0] : undefined, gone);
  }
  for (const id of [...now.keys()].sort((a, b) => aboveOf(b).length - aboveOf(a).length)) {
    const { cpu, readChars, writtenChars, readBytes, writtenBytes } = claims.get(id) ?? NO_SUMS;
    claim(aboveOf(id)[0], {
      cpu: Math.max(0, cpu - Math.max(0, gain(id, 'childCpu'))),
      readChars: Math.max(0, readChars - Math.max(0, gain(id, 'readChars'))),
      writtenChars: Math.max(0, writtenChars - Math.max(0, gain(id, 'writtenChars'))),
      readBytes: Math.max(0, readBytes - Math.max(0, gain(id, 'readBytes'))),
      writtenBytes: Math.max(0, writtenBytes - Math.max(0, gain(id, 'writtenBytes'))),
    });
  }
  return lacking;
}

describe('sumsOfGone of any tree', () => {
  const figure = fc.nat(6);
  const some = fc.record({
    above: fc.option(fc.nat(30), { freq: 8 }),
    own: figure,
    absorbed: figure,
    fate: fc.constantFrom('gone', 'gone', 'stays', 'stays', 'read again'),
    gain: fc.nat(20),
    more: figure,
  });

  it('equals what a search along the tree finds for each process', () => {
    fc.assert(
      fc.property(fc.array(some, { maxLength: 25 }), (tree) => {
        const before = new Map<string, Counters>();
        const now = new Map<string, Counters>();
        const reread = new Map<string, Counters>();
        for (const [index, { above, own, absorbed, fate, gain, more }] of tree.entries()) {
          const parent = above === null || index === 0 ? null : `t${above % index}`;
          before.set(`t${index}`, counters(parent, own, absorbed));
          if (fate !== 'gone') now.set(`t${index}`, counters(parent, own, absorbed + gain));
          if (fate === 'read again') reread.set(`t${index}`, counters(parent, own, absorbed + gain + more));
        }
        assert.deepEqual(sumsOfGone(before, now, reread), plainSumsOfGone(before, now, reread));
      }),
      { numRuns: 3000 },
    );
  });

  it('takes less than 2 s of CPU time for a tree that is 10,000 processes deep', () => {
    const depth = 10_000;
    const chain = Array.from({ length: depth }, (_, index) => [`t${index}`, counters(`t${index - 1}`, 1)] as const);
    const leaves = Array.from({ length: 1000 }, (_, index) => [`l${index}`, counters(`t${depth - 1}`, 1)] as const);
    const before = new Map([...chain, ...leaves]);
    const started = cpuMs();
    assert.deepEqual(sumsOfGone(before, new Map(chain), NO_PROCESSES), sums(1000));
    assert.deepEqual(sumsOfGone(before, new Map(chain.slice(0, 1)), NO_PROCESSES), sums(depth + 999));
    const ms = cpuMs() - started;
    assert.ok(ms < 2000, `${ms} ms`);
  });
});

interface Task {
  readonly id: string;
  readonly start: number;
  parent: Task | null;
  state: 'alive' | 'zombie' | 'gone';
  /** Doesn't wait for its children: the kernel drops what they used. */
  readonly ignores: boolean;
  own: Sums;
  faults: number;
  absorbed: Sums;
  childFaults: number;
}

type Step = readonly [
  kind: string,
  which: number,
  amount: number,
  during: readonly (readonly [string, number, number])[],
];
const KINDS = ['fork', 'work', 'work', 'exit', 'wait', 'wait'] as const;
const step = fc.tuple(
  fc.constantFrom(...KINDS, 'tick', 'tick'),
  fc.nat(12),
  fc.nat(40),
  fc.array(fc.tuple(fc.constantFrom(...KINDS), fc.nat(12), fc.nat(40)), { maxLength: 6 }),
);
const script: fc.Arbitrary<readonly Step[]> = fc.array(step, { minLength: 1, maxLength: 60 });

interface Rules {
  /** Which tasks don't wait for their children. */
  readonly ignores: (number: number) => boolean;
  /** The first process adopts orphans; otherwise they leave the job. */
  readonly reaper: boolean;
  /** Tasks also act while a tick reads them. */
  readonly restless: boolean;
  /** The first process stays; the others end only when they have no children, and are waited for at once. */
  readonly orderly: boolean;
  /** A tick before every step. */
  readonly everywhere: boolean;
}

/** Plays the life of a job; `check` gets the sums that a sampler would give, and the truth, at every tick. */
function play(steps: readonly Step[], rules: Rules, check: (seen: Sums, truth: Sums) => void): void {
  const tasks: Task[] = [];
  let truth = NO_SUMS;
  let before: ReadonlyMap<string, Counters> = new Map();
  let lacking = NO_SUMS;
  const known: Task[] = [];

  const start = (parent: Task | null): void => {
    const number = tasks.length;
    const id = `t${number}`;
    tasks.push({
      id,
      start: number,
      parent,
      state: 'alive',
      ignores: rules.ignores(number),
      own: NO_SUMS,
      faults: 1,
      absorbed: NO_SUMS,
      childFaults: 0,
    });
  };
  const drop = (task: Task, into: Task | null): void => {
    task.state = 'gone';
    if (into === null) return;
    into.absorbed = addSums(into.absorbed, addSums(task.own, task.absorbed));
    into.childFaults += task.faults + task.childFaults;
  };
  const childrenOf = (task: Task): readonly Task[] =>
    tasks.filter((other) => other.parent === task && other.state !== 'gone');

  function happen(kind: string, which: number, amount: number): void {
    const living = tasks.filter((task) => task.state === 'alive');
    const task = living[which % Math.max(1, living.length)];
    if (task === undefined) return;
    switch (kind) {
      case 'fork':
        if (living.length < 8) start(task);
        break;
      case 'work': {
        const done = { ...sums(amount % 9), readBytes: amount, writtenChars: amount % 5 };
        task.own = addSums(task.own, done);
        task.faults += amount % 7;
        truth = addSums(truth, done);
        break;
      }
      case 'wait': {
        const zombie = childrenOf(task).find((child) => child.state === 'zombie');
        if (zombie !== undefined) drop(zombie, task);
        break;
      }
      case 'exit': {
        if (rules.orderly && (task.parent === null || childrenOf(task).length > 0)) return;
        const heir = rules.reaper && tasks[0] !== task && tasks[0]?.state === 'alive' ? tasks[0] : null;
        for (const child of childrenOf(task)) {
          child.parent = heir;
          // No process of the job will wait for it: init does.
          if (heir === null && child.state === 'zombie') drop(child, null);
        }
        if (task.parent === null || task.parent.ignores) drop(task, null);
        else if (rules.orderly) drop(task, task.parent);
        else task.state = 'zombie';
        break;
      }
      default:
    }
  }

  function read(task: Task): Counters {
    const parent =
      task.parent !== null && task.parent.state !== 'gone' && known.includes(task.parent) ? task.parent.id : null;
    return {
      ...addSums(task.own, task.absorbed),
      parent,
      childCpu: task.absorbed.cpu,
      faults: task.faults + task.childFaults,
      childFaults: task.childFaults,
    };
  }

  function tick(during: Step[3]): void {
    const queue = [...during];
    const meanwhile = (): void => {
      const next = rules.restless ? queue.shift() : undefined;
      if (next !== undefined) happen(...next);
    };
    for (const task of tasks) if (task.state !== 'gone' && !known.includes(task)) known.push(task);
    const now = new Map<string, Counters>();
    const gone: Task[] = [];
    for (const task of [...known].sort((a, b) => a.start - b.start)) {
      meanwhile();
      if (task.state === 'gone') {
        gone.push(task);
        known.splice(known.indexOf(task), 1);
      } else now.set(task.id, read(task));
    }
    const reread = new Map<string, Counters>();
    for (const task of gone)
      for (let id = before.get(task.id)?.parent ?? null; id !== null; id = before.get(id)?.parent ?? null) {
        meanwhile();
        const heir = known.find((other) => other.id === id && other.state !== 'gone');
        if (heir !== undefined) reread.set(id, read(heir));
      }
    lacking = addSums(lacking, sumsOfGone(before, now, reread));
    before = now;
    check(totals(lacking, now), truth);
  }

  start(null);
  for (const [kind, which, amount, during] of steps) {
    if (rules.everywhere) tick([]);
    if (kind === 'tick') tick(during);
    else happen(kind, which, amount);
  }
  if (rules.everywhere) tick([]);
  for (const task of tasks) if (task.state !== 'gone') drop(task, null);
  tick([]);
}

describe('the total of any tree of processes', () => {
  const atMost = (seen: Sums, truth: Sums): void => {
    for (const key of ['cpu', 'readChars', 'writtenChars', 'readBytes', 'writtenBytes'] as const)
      assert.ok(seen[key] <= truth[key], `${key}: ${seen[key]} of ${truth[key]}`);
  };
  const wild: Rules = {
    ignores: (number) => number % 3 === 1,
    reaper: false,
    restless: true,
    orderly: false,
    everywhere: false,
  };

  for (const [name, rules] of [
    ['where some wait', wild],
    ['with a process that adopts orphans', { ...wild, reaper: true }],
    ['where all wait', { ...wild, ignores: () => false }],
    ['where none waits', { ...wild, ignores: () => true }],
  ] as const)
    it(`is never above the truth, ${name}`, () => {
      fc.assert(
        fc.property(script, (steps) => {
          play(steps, rules, atMost);
        }),
        { numRuns: 1500 },
      );
    });

  it('equals the truth where every exit was waited for, however seldom the job was read', () => {
    fc.assert(
      fc.property(script, (steps) => {
        let last: readonly [Sums, Sums] = [NO_SUMS, NO_SUMS];
        const rules = { ...wild, ignores: () => false, restless: false, orderly: true };
        // All but the first process end and are waited for; then comes one more tick.
        const ends = Array.from({ length: 80 }, (_, index): Step => ['exit', index, 0, []]);
        play([...steps, ...ends, ['tick', 0, 0, []]], rules, (seen, truth) => {
          last = [seen, truth];
          atMost(seen, truth);
        });
        assert.deepEqual(...last);
      }),
      { numRuns: 300 },
    );
  });

  it('equals the truth where no process waits and each was read after its last activity', () => {
    fc.assert(
      fc.property(script, (steps) => {
        play(steps, { ...wild, ignores: () => true, restless: false, everywhere: true }, (seen, truth) => {
          assert.deepEqual(seen, truth);
        });
      }),
      { numRuns: 300 },
    );
  });
});

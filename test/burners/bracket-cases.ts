import type { OpenReason } from '../../src/record/record';
import type { Burner } from './build';
import type { BurnerJob } from './bracketed';

/** One way to run a burner, and what must become of its brackets. */
export interface BracketCase {
  readonly name: string;
  readonly burner: Burner;
  /** Short runs, for tests. */
  readonly options: readonly string[];
  /** Runs of a second or two with more memory, for measuring. */
  readonly longer: readonly string[];
  readonly job?: Pick<BurnerJob, 'user' | 'heardAfterMs'>;
  /** Why the upper ends of resident memory are open in every run; none: they are closed. */
  readonly openRss?: OpenReason;
  /** The same of address space. */
  readonly openVmem?: OpenReason;
  /** One process at a time holds nearly all: the ends must be near each other. */
  readonly ordinary?: true;
}

/** No sampler sees an exec that replaced a program beforehand; the mark is lost with it. */
const REPLACED = { openVmem: 'exec' } as const;
const NOBODY = { user: { uid: 65_534, addressSpace: 1024 * 1024 * 1024 } } as const;

const it = (
  name: string,
  burner: Burner,
  options: string,
  longer: string,
  more: Partial<BracketCase> = {},
): BracketCase => {
  const words = (text: string): readonly string[] =>
    text
      .split(' ')
      .filter((word) => word !== '')
      .map((word) => `--${word}`);
  return { name, burner, options: words(options), longer: words(longer), ...more };
};

const ordinary = { ordinary: true } as const;

export const BRACKET_CASES: readonly BracketCase[] = [
  it('steady', 'steady', 'mib=24 hold=150', 'mib=160 hold=1200', ordinary),
  it('growing until its end', 'growing', 'mib=24 over=150', 'mib=160 over=1400', ordinary),
  it(
    'a spike of 5 ms',
    'spike',
    'mib=24 base=8 length=5 before=60 after=60',
    'mib=160 base=16 length=5 before=600 after=600',
    ordinary,
  ),
  it('8 threads', 'threads', 'mib=24 threads=8 hold=120', 'mib=160 threads=8 hold=1200', ordinary),
  it(
    'a leader that exits before its threads',
    'leader-exits',
    'mib=24 threads=3 grow=60 hold=60',
    'mib=160 threads=3 grow=400 hold=800',
    ordinary,
  ),
  it('large, then small by exec', 'shrink-by-exec', 'mib=24 hold=80 after=60', 'mib=160 hold=700 after=500', {
    ...ordinary,
    ...REPLACED,
  }),
  it('a chain of 4 programs', 'exec-chain', 'mib=24 images=4 peak=1 hold=40', 'mib=160 images=4 peak=1 hold=300', {
    ...ordinary,
    ...REPLACED,
  }),
  it(
    'a chain, each exec by another thread',
    'exec-chain',
    'mib=16 images=4 peak=2 hold=40 thread=1',
    'mib=160 images=4 peak=2 hold=300 thread=1',
    REPLACED,
  ),
  it(
    'a chain in a child',
    'exec-chain',
    'mib=16 images=4 peak=1 hold=40 how=child',
    'mib=160 images=4 peak=1 hold=300 how=child',
    REPLACED,
  ),
  it(
    'a chain in an orphan',
    'exec-chain',
    'mib=16 images=4 peak=1 hold=40 how=orphan',
    'mib=160 images=4 peak=1 hold=300 how=orphan',
    { openRss: 'exec', ...REPLACED },
  ),
  it(
    'the same below a limit',
    'exec-chain',
    'mib=16 images=4 peak=1 hold=40 how=orphan',
    'mib=160 images=4 peak=1 hold=300 how=orphan',
    { job: NOBODY },
  ),
  it(
    'helpers of a large parent, by fork',
    'fork-large-parent',
    'mib=24 delay=20 hold=40 rounds=2 helper=4',
    'mib=160 delay=50 hold=300 rounds=4 helper=4',
    ordinary,
  ),
  it(
    'helpers of a large parent, by vfork',
    'vfork',
    'mib=24 delay=20 hold=40 helpers=2 helper=4',
    'mib=160 delay=50 hold=300 helpers=4 helper=4',
    ordinary,
  ),
  it(
    'helpers of a large parent, by posix_spawn',
    'vfork',
    'mib=24 how=spawn hold=60 helpers=2 helper=4',
    'mib=160 how=spawn hold=300 helpers=4 helper=4',
    ordinary,
  ),
  it(
    'a copy that stays a copy',
    'fork-large-parent',
    'mib=16 execs=0 dirty=16 hold=100',
    'mib=160 execs=0 dirty=40 hold=1200',
    ordinary,
  ),
  it('memory handed over', 'handover', 'mib=16 rounds=2 hold=30', 'mib=160 rounds=2 hold=350'),
  it(
    'memory handed over by copies',
    'handover',
    'mib=16 rounds=2 hold=30 execs=0',
    'mib=160 rounds=2 hold=350 execs=0',
  ),
  it('one map shared by 3', 'shared-map', 'mib=16 processes=3 hold=100', 'mib=160 processes=3 hold=1200', ordinary),
  it(
    'many short children',
    'many-children',
    'children=40 concurrency=8 mib=2 life=20',
    'children=2000 concurrency=32 mib=2 life=20',
  ),
  it(
    'many short copies',
    'many-children',
    'children=40 concurrency=8 mib=2 life=20 execs=0',
    'children=2000 concurrency=32 mib=2 life=20 execs=0',
  ),
  it('a tree of 13', 'fork-tree', 'mib=2 depth=2 fanout=3 hold=60', 'mib=32 depth=2 fanout=3 hold=1000'),
  it(
    'a tree of 13 copies',
    'fork-tree',
    'mib=2 depth=2 fanout=3 hold=60 execs=0',
    'mib=32 depth=2 fanout=3 hold=1000 execs=0',
  ),
  it('a daemon', 'daemon', 'mib=16 hold=120', 'mib=160 hold=1300'),
  it(
    'a daemon with an image of its own',
    'daemon',
    'mib=16 hold=120 wait=1 execs=1',
    'mib=160 hold=1300 wait=1 execs=1',
  ),
  it(
    'a child that the kernel calls its sibling',
    'sibling',
    'mib=24 before=80 hold=60',
    'mib=160 before=500 hold=500',
    {
      openRss: 'unknown-origin',
      openVmem: 'unknown-origin',
    },
  ),
];

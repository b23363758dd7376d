import type { OpenReason } from '../../src/record/record';
import type { Burner } from './build';
import type { BurnerJob } from './bracketed';

/** One way to run a burner, and what its brackets must be. */
export interface BracketCase {
  readonly name: string;
  readonly burner: Burner;
  /** Short runs, for tests. */
  readonly options: readonly string[];
  /** Runs of a second or two with more memory, for measuring. */
  readonly longer: readonly string[];
  readonly job?: Pick<BurnerJob, 'user' | 'heardAfterMs'>;
  /** Why the upper bounds of resident memory are open in every run; undefined: they are known. */
  readonly openRss?: OpenReason;
  /** Why the upper bounds of address space are open in every run. */
  readonly openVmem?: OpenReason;
  /** One process at a time holds nearly all memory: the bounds must be close to each other. */
  readonly ordinary?: true;
}

/** An exec is seen only after it replaced a program, whose mark is lost by then. */
const REPLACED = { openVmem: 'exec' } as const;
const NOBODY = { user: { uid: 65_534, addressSpace: 1024 * 1024 * 1024 } } as const;

const bracketCase = (
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
  bracketCase('steady', 'steady', 'mib=24 hold=150', 'mib=160 hold=1200', ordinary),
  bracketCase('growing until its end', 'growing', 'mib=24 over=150', 'mib=160 over=1400', ordinary),
  bracketCase(
    'a spike of 5 ms',
    'spike',
    'mib=24 base=8 length=5 before=60 after=60',
    'mib=160 base=16 length=5 before=600 after=600',
    ordinary,
  ),
  bracketCase('8 threads', 'threads', 'mib=24 threads=8 hold=120', 'mib=160 threads=8 hold=1200', ordinary),
  bracketCase(
    'a leader that exits before its threads',
    'leader-exits',
    'mib=24 threads=3 grow=60 hold=60',
    'mib=160 threads=3 grow=400 hold=800',
    ordinary,
  ),
  bracketCase('large, then small by exec', 'shrink-by-exec', 'mib=24 hold=80 after=60', 'mib=160 hold=700 after=500', {
    ...ordinary,
    ...REPLACED,
  }),
  bracketCase(
    'a chain of 4 programs',
    'exec-chain',
    'mib=24 images=4 peak=1 hold=40',
    'mib=160 images=4 peak=1 hold=300',
    {
      ...ordinary,
      ...REPLACED,
    },
  ),
  bracketCase(
    'a chain, each exec by another thread',
    'exec-chain',
    'mib=16 images=4 peak=2 hold=40 thread=1',
    'mib=160 images=4 peak=2 hold=300 thread=1',
    REPLACED,
  ),
  bracketCase(
    'a chain in a child',
    'exec-chain',
    'mib=16 images=4 peak=1 hold=40 how=child',
    'mib=160 images=4 peak=1 hold=300 how=child',
    REPLACED,
  ),
  bracketCase(
    'a copy with memory of its own, then a program',
    'exec-chain',
    'mib=24 images=2 peak=0 hold=1200 how=child',
    'mib=160 images=2 peak=0 hold=1200 how=child',
    REPLACED,
  ),
  bracketCase(
    'a chain in an orphan',
    'exec-chain',
    'mib=16 images=4 peak=1 hold=40 how=orphan',
    'mib=160 images=4 peak=1 hold=300 how=orphan',
    { openRss: 'exec', ...REPLACED },
  ),
  bracketCase(
    'a chain in an orphan, below a limit',
    'exec-chain',
    'mib=16 images=4 peak=1 hold=40 how=orphan',
    'mib=160 images=4 peak=1 hold=300 how=orphan',
    { job: NOBODY },
  ),
  bracketCase(
    'helpers of a large parent, by fork',
    'fork-large-parent',
    'mib=24 delay=20 hold=40 rounds=2 helper=4',
    'mib=160 delay=50 hold=300 rounds=4 helper=4',
    ordinary,
  ),
  bracketCase(
    'helpers of a large parent, by vfork',
    'vfork',
    'mib=24 delay=20 hold=40 helpers=2 helper=4',
    'mib=160 delay=50 hold=300 helpers=4 helper=4',
    ordinary,
  ),
  bracketCase(
    'helpers of a large parent, by posix_spawn',
    'vfork',
    'mib=24 how=spawn hold=60 helpers=2 helper=4',
    'mib=160 how=spawn hold=300 helpers=4 helper=4',
    ordinary,
  ),
  bracketCase(
    'a copy that stays a copy',
    'fork-large-parent',
    'mib=16 execs=0 dirty=16 hold=100',
    'mib=160 execs=0 dirty=40 hold=1200',
    ordinary,
  ),
  bracketCase('memory handed over', 'handover', 'mib=16 rounds=2 hold=30', 'mib=160 rounds=2 hold=350'),
  bracketCase(
    'memory handed over by copies',
    'handover',
    'mib=16 rounds=2 hold=30 execs=0',
    'mib=160 rounds=2 hold=350 execs=0',
  ),
  bracketCase(
    'one map shared by 3',
    'shared-map',
    'mib=16 processes=3 hold=100',
    'mib=160 processes=3 hold=1200',
    ordinary,
  ),
  bracketCase(
    'many short children',
    'many-children',
    'children=40 concurrency=8 mib=2 life=20',
    'children=2000 concurrency=32 mib=2 life=20',
  ),
  bracketCase(
    'many short copies',
    'many-children',
    'children=40 concurrency=8 mib=2 life=20 execs=0',
    'children=2000 concurrency=32 mib=2 life=20 execs=0',
  ),
  bracketCase('a tree of 13', 'fork-tree', 'mib=2 depth=2 fanout=3 hold=60', 'mib=32 depth=2 fanout=3 hold=1000'),
  bracketCase(
    'a tree of 13 copies',
    'fork-tree',
    'mib=2 depth=2 fanout=3 hold=60 execs=0',
    'mib=32 depth=2 fanout=3 hold=1000 execs=0',
  ),
  bracketCase('a daemon', 'daemon', 'mib=16 hold=120', 'mib=160 hold=1300'),
  bracketCase(
    'a daemon with an image of its own',
    'daemon',
    'mib=16 hold=120 wait=1 execs=1',
    'mib=160 hold=1300 wait=1 execs=1',
  ),
  bracketCase(
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

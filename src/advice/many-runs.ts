import type { PastRun } from './replay';

const NUMBERS = ['submit', 'end', 'seconds', 'needed', 'stoppedAt', 'requested'] as const;
/** Number of runs per block. */
const BLOCK = 65_536;

const known = (value: number): number | null => (Number.isNaN(value) ? null : value);

/** The runs of a long history, kept as plain numbers: a million objects would take much more memory. */
export class ManyRuns {
  private readonly blocks: Float64Array[] = [];
  /** Lists of classes by their narrowest, which determines the others: the runs of a class share one. */
  private readonly lists = new Map<string, readonly string[]>();
  private readonly classes: (readonly string[])[] = [];

  get count(): number {
    return this.classes.length;
  }

  add(run: PastRun): void {
    const place = this.count % BLOCK;
    if (place === 0) this.blocks.push(new Float64Array(BLOCK * NUMBERS.length));
    this.blocks.at(-1)?.set(
      NUMBERS.map((name) => run[name] ?? NaN),
      place * NUMBERS.length,
    );
    const [narrowest = ''] = run.classes;
    const classes = this.lists.get(narrowest) ?? run.classes;
    this.lists.set(narrowest, classes);
    this.classes.push(classes);
  }

  *bySubmission(): Generator<PastRun, void> {
    const submitted = Float64Array.from(this.classes, (_, index) => this.numbersOf(index)[0] ?? 0);
    const order = Uint32Array.from(submitted.keys());
    order.sort((a, b) => (submitted[a] ?? 0) - (submitted[b] ?? 0) || a - b);
    for (const index of order) {
      const [submit = 0, end = 0, seconds = 0, needed = 0, stoppedAt = NaN, requested = NaN] = this.numbersOf(index);
      const classes = this.classes[index] ?? [];
      yield { submit, end, classes, seconds, needed, stoppedAt: known(stoppedAt), requested: known(requested) };
    }
  }

  private numbersOf(index: number): Float64Array {
    const at = (index % BLOCK) * NUMBERS.length;
    return this.blocks[Math.floor(index / BLOCK)]?.subarray(at, at + NUMBERS.length) ?? new Float64Array();
  }
}

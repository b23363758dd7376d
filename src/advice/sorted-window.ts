const NONE: number[] = [];

/** The last numbers added, both by age and by size. */
export class SortedWindow {
  private byAge: number[] = NONE;
  private bySize: number[] = NONE;

  /** `most`: how many numbers are kept. */
  constructor(private readonly most: number) {}

  copy(): SortedWindow {
    const window = new SortedWindow(this.most);
    window.byAge = [...this.byAge];
    window.bySize = [...this.bySize];
    return window;
  }

  get size(): number {
    return this.bySize.length;
  }

  /** Smallest first. */
  get sorted(): readonly number[] {
    return this.bySize;
  }

  /** The last `count`, oldest first. */
  last(count: number): readonly number[] {
    return this.byAge.slice(-count);
  }

  add(value: number): void {
    if (this.size === 0) {
      // Arrays with room for one number only: most of the many windows never hold more.
      this.byAge = [value];
      this.bySize = [value];
      return;
    }
    this.bySize.splice(this.firstNotBelow(value), 0, value);
    this.byAge.push(value);
    if (this.byAge.length <= this.most) return;
    const oldest = this.byAge.shift();
    if (oldest !== undefined) this.bySize.splice(this.firstNotBelow(oldest), 1);
  }

  private firstNotBelow(value: number): number {
    let low = 0;
    let high = this.bySize.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.bySize[middle] ?? Infinity) < value) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

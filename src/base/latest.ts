/** Keeps the most recently used values, as long as their sizes (`sizeOf`, else 1 each) add up to `most` or less. */
export class Latest<Key, Value> {
  private readonly kept = new Map<Key, Value>();
  private size = 0;

  constructor(
    private readonly most: number,
    private readonly sizeOf: (value: Value) => number = () => 1,
  ) {}

  get(key: Key): Value | undefined {
    const value = this.kept.get(key);
    if (value === undefined) return undefined;
    this.kept.delete(key);
    this.kept.set(key, value);
    return value;
  }

  /** The kept value, or a new one, which is then kept. */
  getOrMake(key: Key, make: () => Value): Value {
    const known = this.get(key);
    if (known !== undefined) return known;
    const made = make();
    this.set(key, made);
    return made;
  }

  /** Keeps a value, however large it is, and drops the least recently used ones if needed. */
  set(key: Key, value: Value): void {
    this.forget(key);
    for (const oldest of this.kept.keys()) {
      if (this.size + this.sizeOf(value) <= this.most) break;
      this.forget(oldest);
    }
    this.kept.set(key, value);
    this.size += this.sizeOf(value);
  }

  private forget(key: Key): void {
    const value = this.kept.get(key);
    if (value === undefined) return;
    this.kept.delete(key);
    this.size -= this.sizeOf(value);
  }
}

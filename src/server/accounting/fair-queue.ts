/** A queue in which callers take turns; the items of each caller keep their order. */
export class FairQueue<Item> {
  /** Items by caller, in the order of the callers' turns. */
  private readonly callers = new Map<string, Set<Item>>();
  private count = 0;

  get size(): number {
    return this.count;
  }

  add(caller: string, item: Item): void {
    const items = this.callers.get(caller) ?? new Set<Item>();
    this.callers.set(caller, items.add(item));
    this.count++;
  }

  /** The next item of the next caller, whose next turn is after everybody else's; undefined: nothing waits. */
  take(): Item | undefined {
    for (const [caller, items] of this.callers) {
      this.callers.delete(caller);
      for (const item of items) {
        items.delete(item);
        this.count--;
        if (items.size > 0) this.callers.set(caller, items);
        return item;
      }
    }
    return undefined;
  }

  remove(caller: string, item: Item): void {
    const items = this.callers.get(caller);
    if (items?.delete(item) !== true) return;
    this.count--;
    if (items.size === 0) this.callers.delete(caller);
  }

  /** The newest item of the caller with the most items: the one to drop when the queue is full. */
  newestOfLargest(): Item | undefined {
    const largest = [...this.callers.values()].reduce<Set<Item> | null>(
      (most, items) => (most === null || items.size > most.size ? items : most),
      null,
    );
    return [...(largest ?? [])].at(-1);
  }
}

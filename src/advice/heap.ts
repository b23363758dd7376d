/** A priority queue: the item with the smallest order comes first. */
export class Heap<Item> {
  private readonly items: Item[] = [];

  constructor(private readonly orderOf: (item: Item) => number) {}

  get first(): Item | undefined {
    return this.items[0];
  }

  add(item: Item): void {
    const order = this.orderOf(item);
    let at = this.items.length;
    while (at > 0) {
      const parent = this.items[(at - 1) >> 1];
      if (parent === undefined || this.orderOf(parent) <= order) break;
      this.items[at] = parent;
      at = (at - 1) >> 1;
    }
    this.items[at] = item;
  }

  takeFirst(): Item | undefined {
    const [first] = this.items;
    const last = this.items.pop();
    if (last !== undefined && this.items.length > 0) this.sink(last);
    return first;
  }

  private sink(item: Item): void {
    const order = this.orderOf(item);
    let at = 0;
    for (;;) {
      const left = this.items[2 * at + 1];
      if (left === undefined) break;
      const right = this.items[2 * at + 2];
      const isRight = right !== undefined && this.orderOf(right) < this.orderOf(left);
      const child = isRight ? right : left;
      if (this.orderOf(child) >= order) break;
      this.items[at] = child;
      at = 2 * at + (isRight ? 2 : 1);
    }
    this.items[at] = item;
  }
}

/** Items in the order of a size that is worked out once for each, the largest first. */
export function largestFirst<Item>(items: readonly Item[], sizeOf: (item: Item) => number): Item[] {
  const sized = items.map((item) => ({ item, size: sizeOf(item) }));
  return sized.sort((a, b) => b.size - a.size).map(({ item }) => item);
}

/** Items by size, the largest first; the size of each is computed only once. */
export function largestFirst<Item>(items: readonly Item[], sizeOf: (item: Item) => number): Item[] {
  const sized = items.map((item) => ({ item, size: sizeOf(item) }));
  return sized.sort((a, b) => b.size - a.size).map(({ item }) => item);
}

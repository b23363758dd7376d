/** The CPU time of a piece of synchronous work. */

const BLOCK_US = 4000;
const MOST_IN_A_BLOCK = 1000;

/** CPU microseconds of one call, block by block; blocks are long enough for the clock's resolution. */
export function cpuOfCall(call: () => void, blocks: number): readonly number[] {
  const costs: number[] = [];
  // The first block only warms up the just-in-time compiler.
  for (let block = -1; block < blocks; block++) {
    const before = process.cpuUsage();
    let spent = 0;
    let calls = 0;
    while (spent < BLOCK_US && calls < MOST_IN_A_BLOCK) {
      call();
      calls++;
      const { user, system } = process.cpuUsage(before);
      spent = user + system;
    }
    if (block >= 0) costs.push(spent / calls);
  }
  return costs;
}

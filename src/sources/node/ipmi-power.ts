/** What a BMC says of the whole node, in watts; null: not said. */
interface IpmiPower {
  readonly current: number | null;
  readonly average: number | null;
}

/** "Current Power : 332 Watts" (FreeIPMI), "Instantaneous power reading: 212 Watts" (ipmitool), "Avg Power ...: 49 Watts". */
const LINE = /^\s*([^:]{1,100}?)\s*:\s*(\d{1,6}(?:\.\d{1,6})?) *W(?:atts?)?\b/i;
const CURRENT = /^(?:current power|instantaneous power)/i;
const AVERAGE = /^(?:average|avg) power/i;

/**
 * Power of a node from the output of ipmi-dcmi, ipmitool, ipmiutil or another command; without a known label, the first
 * line "...: NUMBER W" is taken as the current power. A BMC that does not measure says 0 W, which is no reading.
 */
export function parseIpmiPower(text: string): IpmiPower {
  let current: number | null = null;
  let average: number | null = null;
  let other: number | null = null;
  for (const line of text.split('\n')) {
    const [, label, number] = LINE.exec(line) ?? [];
    const watts = Number(number);
    if (label === undefined || !(watts > 0)) continue;
    if (CURRENT.test(label)) current ??= watts;
    else if (AVERAGE.test(label)) average ??= watts;
    else other ??= watts;
  }
  return { current: current ?? (average === null ? other : null), average };
}

/** Hard limit on the address space in the text of `/proc/PID/limits`, in bytes; Infinity: none; null: not in the text. */
export function parseAddressSpaceLimit(text: string): number | null {
  const match = /^Max address space +(?:\d+|unlimited) +(\d+|unlimited) +bytes/m.exec(text);
  if (match === null) return null;
  return match[1] === 'unlimited' ? Infinity : Number(match[1]);
}

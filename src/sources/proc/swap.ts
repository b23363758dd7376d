/** Whether the text of `/proc/swaps` names a swap area; its first line is a heading. */
export function namesSwapArea(text: string): boolean {
  return text.split('\n').filter((line) => line !== '').length > 1;
}

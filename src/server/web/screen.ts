import { createScreen, type Screen } from '../../report/screen/screen';

/** Wider than any text: lines are broken by the browser. */
const NO_WIDTH = 1_000_000;

/**
 * A screen for texts that pages share with the terminal: no colours, and names unchanged, since templates escape them.
 */
export function webScreen(now: number): Screen {
  const screen = createScreen({ width: 0, now: new Date(now), colour: false, unicode: true });
  return { ...screen, width: NO_WIDTH, safe: (text) => text };
}

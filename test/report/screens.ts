import { createScreen, type Screen, type ScreenOptions } from '../../src/report/screen/screen';
import { after } from './sample-records';

/** The screen of the golden outputs: 100 columns, no colour, UTF-8, 723 s after the start of the sample jobs. */
export function testScreen(options: Partial<ScreenOptions> = {}): Screen {
  return createScreen({ width: 100, now: new Date(after(723)), colour: false, unicode: true, ...options });
}

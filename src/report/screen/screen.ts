import { escapeForTerminal } from '../format/escape';

/** Signs that differ between a UTF-8 terminal and one that shows ASCII only. */
export interface Glyphs {
  readonly atLeast: string;
  readonly dash: string;
  readonly times: string;
  readonly ellipsis: string;
  readonly dot: string;
  readonly degree: string;
  readonly arrow: string;
  readonly advice: string;
  readonly none: string;
  readonly barFull: string;
  readonly barRest: string;
  /** Between full and rest: asked for, not used. */
  readonly barAsked: string;
  /** Growing fractions of a cell, the last one full. */
  readonly barParts: readonly string[];
  readonly columnParts: readonly string[];
  readonly limitLine: string;
  readonly axisTick: string;
  readonly axisSide: string;
  readonly axisBreak: string;
  readonly axisBottom: string;
  readonly axisBottomTick: string;
  readonly axisCorner: string;
}

const UNICODE: Glyphs = {
  atLeast: '≥',
  dash: '–',
  times: '×',
  ellipsis: '…',
  dot: '·',
  degree: '°',
  arrow: '→',
  advice: '▸',
  none: '–',
  barFull: '█',
  barRest: '·',
  barAsked: '▒',
  barParts: ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'],
  columnParts: ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'],
  limitLine: '┄',
  axisTick: '┤',
  axisSide: '│',
  axisBreak: '≈',
  axisBottom: '─',
  axisBottomTick: '┴',
  axisCorner: '└',
};

const ASCII: Glyphs = {
  atLeast: '>=',
  dash: '-',
  times: 'x',
  ellipsis: '...',
  dot: '-',
  degree: '',
  arrow: '->',
  advice: '>',
  none: '-',
  barFull: '#',
  barRest: '.',
  barAsked: '=',
  barParts: ['#'],
  columnParts: ['#'],
  limitLine: '-',
  axisTick: '+',
  axisSide: '|',
  axisBreak: '~',
  axisBottom: '-',
  axisBottomTick: '+',
  axisCorner: '+',
};

/** Non-ASCII signs in our own texts. */
const SIGNS = ['dot', 'atLeast', 'none', 'arrow'] as const;

/** Our own text, with the signs that the screen can show. */
export const ownWords = (text: string, { glyphs }: Pick<Screen, 'glyphs'>): string =>
  SIGNS.reduce((words, sign) => words.replaceAll(UNICODE[sign], glyphs[sign]), text);

type Paint = (text: string) => string;

export type Tone = 'good' | 'warning' | 'bad';

/** Colours by their meaning; a colour only repeats what the words say. */
type Style = Readonly<Record<Tone | 'title' | 'faint' | 'accent', Paint>>;

const ansi =
  (on: number, off: number): Paint =>
  (text) =>
    text === '' ? '' : `\u001b[${on}m${text}\u001b[${off}m`;

const COLOURS: Style = {
  title: ansi(1, 22),
  faint: ansi(2, 22),
  good: ansi(32, 39),
  warning: ansi(33, 39),
  bad: ansi(31, 39),
  accent: ansi(36, 39),
};

const same: Paint = (text) => text;
const NO_COLOURS: Style = { title: same, faint: same, good: same, warning: same, bad: same, accent: same };

/** The screen, page or mail that a report is rendered for. */
export interface Screen {
  readonly width: number;
  readonly now: Date;
  /** Interval at which nodes send figures of running jobs; 0: they do not. */
  readonly heartbeatSeconds: number;
  readonly glyphs: Glyphs;
  readonly style: Style;
  /** Makes text that a user chose harmless for this screen. */
  readonly safe: (text: string) => string;
}

export interface ScreenOptions {
  readonly width: number;
  readonly now: Date;
  readonly colour: boolean;
  readonly unicode: boolean;
  /** The largest width, for tables that can use more columns than text is easily read in. */
  readonly widest?: number;
  readonly heartbeatSeconds?: number;
}

/** Plain text mails are read at this width (RFC 3676). */
const MAIL_WIDTH = 78;

const NARROWEST = 60;
const WIDEST = 140;

/** A screen to render for; widths outside of what can be read well are bounded. */
export function createScreen(options: ScreenOptions): Screen {
  return {
    width: Math.min(options.widest ?? WIDEST, Math.max(NARROWEST, options.width)),
    now: options.now,
    heartbeatSeconds: options.heartbeatSeconds ?? 60,
    glyphs: options.unicode ? UNICODE : ASCII,
    style: options.colour ? COLOURS : NO_COLOURS,
    safe: (text) => escapeForTerminal(text, options.unicode),
  };
}

/** A screen for plain text mails: UTF-8, without colours. */
export const mailScreen = (now: Date): Screen => createScreen({ width: MAIL_WIDTH, now, colour: false, unicode: true });

import { emitKeypressEvents, type Key } from 'node:readline';

/** The terminal of the user who watches. */
export interface WatchTty {
  readonly size: () => { readonly columns: number; readonly rows: number };
  readonly write: (text: string) => void;
  /** Listens for keys, changes of size and signals; returns a function that stops this and restores the keyboard. */
  readonly listen: (heard: WatchEvents) => () => void;
}

export interface WatchEvents {
  readonly key: (name: string) => void;
  readonly resize: () => void;
  /** A signal asks to end. */
  readonly end: (signal: NodeJS.Signals) => void;
  /** Continued after a stop (SIGCONT): other programs may have used the screen. */
  readonly resumed: () => void;
}

const ENDINGS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'];

/** This process's own terminal. If stdin is no terminal, there are no keys, and only a signal ends the watching. */
export const processTty: WatchTty = {
  size: () => ({ columns: process.stdout.columns || 80, rows: process.stdout.rows || 24 }),
  write: (text) => void process.stdout.write(text),
  listen: (heard) => {
    const { stdin, stdout } = process;
    const typed = (text: string | undefined, key: Key): void => {
      const name = keyName(text, key);
      if (name !== null) heard.key(name);
    };
    const signalled = (signal: NodeJS.Signals): void => heard.end(signal);
    const resumed = (): void => {
      if (stdin.isTTY) stdin.setRawMode(true);
      heard.resumed();
    };
    if (stdin.isTTY) {
      emitKeypressEvents(stdin);
      stdin.setRawMode(true);
      stdin.on('keypress', typed);
      stdin.resume();
    }
    stdout.on('resize', heard.resize);
    for (const signal of ENDINGS) process.on(signal, signalled);
    process.on('SIGCONT', resumed);
    return () => {
      for (const signal of ENDINGS) process.off(signal, signalled);
      process.off('SIGCONT', resumed);
      stdout.off('resize', heard.resize);
      if (!stdin.isTTY) return;
      stdin.off('keypress', typed);
      stdin.setRawMode(false);
      stdin.pause();
    };
  },
};

const NAMES = ['up', 'down', 'pageup', 'pagedown', 'home', 'end', 'enter', 'escape', 'backspace', 'tab'];
const CONTROLS: ReadonlySet<string> = new Set(['c', 'l', 'u', 'z']);

/** A key's name for the screens: a character, a name ("pageup") or "ctrl-c"; null: none of these. */
export function keyName(text: string | undefined, key: Key): string | null {
  const { name } = key;
  if (key.ctrl) return name !== undefined && CONTROLS.has(name) ? `ctrl-${name}` : null;
  if (name === 'return') return 'enter';
  if (name !== undefined && NAMES.includes(name)) return name;
  if (key.meta || text === undefined) return null;
  return /^[^\p{C}]$/u.test(text) ? text : null;
}

import type { Key } from 'node:readline';

const NAMES: Readonly<Record<string, string>> = {
  up: 'up',
  down: 'down',
  pageup: 'pageup',
  pagedown: 'pagedown',
  home: 'home',
  end: 'end',
  return: 'enter',
  enter: 'enter',
  escape: 'escape',
  backspace: 'backspace',
  tab: 'tab',
};

const CONTROLS: ReadonlySet<string> = new Set(['c', 'l', 'u', 'z']);

/** A key as the screens know it: a character, a name ("pageup") or "ctrl-c"; null: none of these. */
export function keyName(text: string | undefined, key: Key): string | null {
  const { name } = key;
  if (key.ctrl) return name !== undefined && CONTROLS.has(name) ? `ctrl-${name}` : null;
  if (name !== undefined && Object.hasOwn(NAMES, name)) return NAMES[name] ?? null;
  if (key.meta || text === undefined) return null;
  return /^[^\p{C}]$/u.test(text) ? text : null;
}

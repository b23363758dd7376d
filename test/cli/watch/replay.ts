/**
 * The lines that a person sees on a terminal of this size after these bytes. Follows the moves and erasures of our
 * frames, on the normal and the alternate screen; throws on any other sequence but colours.
 */
export function replay(text: string, { columns, rows }: { readonly columns: number; readonly rows: number }): string[] {
  const blank = (): string[][] => Array.from({ length: rows }, () => []);
  const first = { lines: blank(), row: 0, column: 0 };
  let alternate: typeof first | null = null;
  // eslint-disable-next-line no-control-regex -- what a terminal is sent
  for (const [piece] of text.matchAll(/\u001b\[[?\d;]*[A-Za-z]|[^]/gu)) {
    const screen = alternate ?? first;
    // eslint-disable-next-line no-control-regex -- what a terminal is sent
    const code = /^\u001b\[([?\d;]*)([A-Za-z])$/.exec(piece);
    const line = screen.lines[screen.row] ?? [];
    if (code === null) {
      if (piece === '\r') screen.column = 0;
      else if (piece === '\n') {
        screen.row += 1;
        if (screen.row >= screen.lines.length) {
          screen.lines = [...screen.lines.slice(1), []];
          screen.row = screen.lines.length - 1;
        }
      } else if (screen.column < columns) {
        while (line.length < screen.column) line.push(' ');
        line[screen.column] = piece;
        screen.column += 1;
      }
      continue;
    }
    const [, parameters = '', letter] = code;
    switch (letter) {
      case 'H':
        [screen.row = 0, screen.column = 0] = parameters.split(';').map((number) => Number(number) - 1);
        screen.row = Math.min(screen.row, rows - 1);
        break;
      case 'J':
        if (parameters === '2') screen.lines = blank();
        else screen.lines = screen.lines.map((kept, row) => (row < screen.row ? kept : []));
        break;
      case 'K':
        if (parameters === '2') screen.lines[screen.row] = [];
        else line.length = Math.min(line.length, screen.column);
        break;
      case 'm':
        break;
      case 'h':
      case 'l':
        if (parameters === '?1049') alternate = letter === 'h' ? { lines: blank(), row: 0, column: 0 } : null;
        break;
      case undefined:
      default:
        throw new Error(`the terminal was sent ${JSON.stringify(piece)}`);
    }
  }
  return (alternate ?? first).lines.map((line) => line.join('').trimEnd());
}

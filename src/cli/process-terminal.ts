import type { Terminal } from './terminal';

const { stdout, stderr } = process;

/** Where this process's own words go. */
export const processTerminal: Terminal = {
  write: (text) => void stdout.write(text),
  warn: (line) => void stderr.write(`${line}\n`),
  isTTY: stdout.isTTY,
  columns: stdout.isTTY ? stdout.columns : undefined,
  env: process.env,
  now: () => new Date(),
};

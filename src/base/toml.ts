import type * as Toml from 'smol-toml' with { 'resolution-mode': 'import' };

// smol-toml ships a CommonJS build, but its types claim ESM only.
const { parse, stringify, TomlError } = require('smol-toml') as typeof Toml;

export const toToml: (table: object) => string = stringify;

/** A table from TOML. Throws an Error that names, in one line, the line and column of the fault and its cause. */
export function parseToml(text: string): Record<string, unknown> {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const why = error.message.replace(/\n[^]*/, '').replace(/^Invalid TOML document: /, '');
    throw new Error(`line ${error.line}, column ${error.column}: ${why}`, { cause: error });
  }
}

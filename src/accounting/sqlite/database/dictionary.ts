import type { Database, Statement } from 'better-sqlite3';
import type { Dictionary, WordCodec } from '../../cell-codec';
import { DamagedRecord } from '../../store-error';

/** Strings as small numbers, and back. */
export interface Words extends WordCodec {
  /** The number of a string that is known; null otherwise. */
  readonly find: (dictionary: Dictionary, text: string) => number | null;
  /** To be called after a rollback: numbers given since are gone. */
  readonly forget: () => void;
}

interface Table {
  readonly ids: Map<string, number>;
  readonly texts: Map<number, string>;
  readonly find: Statement<[string], number>;
  readonly read: Statement<[number], string>;
  /** Made when needed: on a read-only store it can't be prepared. */
  add: Statement<[string]> | null;
}

/** There can be any number of job names and commands: a long import must not keep them all. */
const CACHED = 50_000;

function remember<K, V>(cache: Map<K, V>, key: K, value: V): V {
  if (cache.size >= CACHED) cache.clear();
  cache.set(key, value);
  return value;
}

export function createWords(db: Database): Words {
  const tables = new Map<Dictionary, Table>();
  const table = (name: Dictionary): Table => {
    const known = tables.get(name);
    if (known) return known;
    const made: Table = {
      ids: new Map(),
      texts: new Map(),
      find: db.prepare<[string], number>(`SELECT id FROM ${name} WHERE name = ?`).pluck(),
      read: db.prepare<[number], string>(`SELECT name FROM ${name} WHERE id = ?`).pluck(),
      add: null,
    };
    tables.set(name, made);
    return made;
  };
  const findIn = ({ ids, find }: Table, text: string): number | null => {
    const known = ids.get(text);
    if (known !== undefined) return known;
    const id = find.get(text);
    return id === undefined ? null : remember(ids, text, id);
  };
  return {
    find: (dictionary, text) => findIn(table(dictionary), text),
    intern: (dictionary, text) => {
      const known = table(dictionary);
      const id = findIn(known, text);
      if (id !== null) return id;
      known.add ??= db.prepare<[string]>(`INSERT INTO ${dictionary} (name) VALUES (?)`);
      return remember(known.ids, text, Number(known.add.run(text).lastInsertRowid));
    },
    text: (dictionary, id) => {
      const { texts, read } = table(dictionary);
      const known = texts.get(id);
      if (known !== undefined) return known;
      const text = read.get(id);
      if (text === undefined) throw new DamagedRecord(`names entry ${id} of ${dictionary}, which is missing`);
      return remember(texts, id, text);
    },
    forget: () => {
      for (const { ids, texts } of tables.values()) {
        ids.clear();
        texts.clear();
      }
    },
  };
}

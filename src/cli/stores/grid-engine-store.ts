import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MIB } from '../../base/units';
import type { HistoryStore, ImportedFile } from '../../accounting/history-store';
import { HEAD_BYTES, hashOf, openAccountingFile } from '../../accounting/import/accounting-file';
import { importFile } from '../../accounting/import/import-file';
import { beginPlace, placeAt } from '../../accounting/import/place-at';
import { openHistory } from '../../accounting/open-store';
import type { AccountingReader } from '../../accounting/store';
import { RequestRules } from '../../record/request-rules';
import type { Settings } from '../../record/settings';
import { formatBytes, plural } from '../../report/format/units';
import { siteFiles } from '../import/import-site';
import type { Terminal } from '../terminal';

/** About 30,000 lines, which are read in less than a second. */
const MOST_BYTES = 8 * MIB;

export interface GridEngineStore {
  readonly reader: AccountingReader;
  /** What the store contains, for a message. */
  readonly says: string;
}

/** The place of the first whole line within the file's last MOST_BYTES; offset 0: the whole file is read. */
async function tailBegin(
  path: string,
): Promise<Pick<ImportedFile, 'offset' | 'tail' | 'head' | 'headBytes' | 'device' | 'inode'>> {
  const file = await openAccountingFile(path);
  try {
    const { device, inode, compressed } = file;
    const head = await file.head(HEAD_BYTES);
    const at = async (from: number) => {
      const { offset, tail } = (await placeAt(file, head, from)) ?? beginPlace(head);
      return { device, inode, head: hashOf(head), headBytes: head.length, offset, tail: hashOf(tail) };
    };
    const from = compressed ? 0 : Math.max(0, (await file.size()) - MOST_BYTES);
    if (from === 0) return await at(0);
    for await (const piece of file.read(from)) {
      const end = piece.indexOf('\n');
      if (end >= 0) return await at(from + end + 1);
    }
    return await at(0);
  } finally {
    await file.close();
  }
}

async function importTail(store: HistoryStore, path: string, cluster: string, rules: RequestRules): Promise<number> {
  const begin = await tailBegin(path);
  if (begin.offset > 0)
    await store.importLines({ file: { ...begin, cluster, path, lines: 0 }, before: null, lines: [], unreadable: [] });
  const { problem, lines } = await importFile(path, store, { cluster, rules });
  if (problem !== null) throw new Error(problem);
  return lines;
}

/**
 * The end of Grid Engine's own accounting, for a host without an accounting DB, imported into a temporary store that
 * vanishes with the command. Rejects with CommandError if no cell is found, with the file system's error or StoreError.
 */
export async function openGridEngineStore(settings: Settings, env: Terminal['env']): Promise<GridEngineStore> {
  const { cluster, look } = siteFiles(settings, env);
  const path = look().at(-1);
  if (path === undefined) throw new Error('Grid Engine has no accounting file yet');
  const directory = mkdtempSync(join(tmpdir(), 'qmemacct-'));
  try {
    const accounting = join(directory, 'accounting.db');
    const store = await openHistory({ accounting, accounting_credentials: '', accounting_mode: '0600' });
    const lines = await importTail(store, path, cluster, new RequestRules(settings));
    return {
      reader: store,
      says: `no accounting DB is on this host, and no server: from the last ${formatBytes(MOST_BYTES)} of ${path} (${plural(lines, 'line')}); "qmemacct import" reads all of it into a DB of your own, an admin sets up the server with "qmemacct install --node --serve"`,
    };
  } finally {
    // The store keeps its deleted file open as long as it is used.
    rmSync(directory, { recursive: true });
  }
}

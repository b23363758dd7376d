import { statSync } from 'node:fs';
import { isPostgresUrl } from '../../record/postgres-url';
import type { AccountingReader } from '../../accounting/store';

/** An accounting DB that stays open between questions. */
interface KeptReader {
  /** The open store; opened anew where its file is another one than before. Rejects with StoreError. */
  open(): Promise<AccountingReader>;
  /** Closes it, so that the next question opens it anew. */
  drop(): Promise<void>;
}

function identityOf(path: string): string {
  if (isPostgresUrl(path)) return path;
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? '' : `${found.dev}:${found.ino}`;
}

/** Keeps the accounting DB at `path` open, as long as it is the file of that name. */
export function keepReader(path: string, open: (path: string) => Promise<AccountingReader>): KeptReader {
  let kept: { readonly reader: AccountingReader; readonly identity: string } | null = null;
  const drop = async (): Promise<void> => {
    const { reader } = kept ?? {};
    kept = null;
    await reader?.close();
  };
  return {
    open: async () => {
      const identity = identityOf(path);
      if (kept !== null && kept.identity !== identity) await drop();
      kept ??= { reader: await open(path), identity };
      return kept.reader;
    },
    drop,
  };
}

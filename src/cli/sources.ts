import { accessSync } from 'node:fs';
import type { AccountingReader } from '../accounting/store';
import type { JobRecord } from '../record/record';
import type { Settings } from '../record/settings';

/** What the commands read, so that a test can put something else there. */
export interface Sources {
  /** Opens an accounting DB for reading. Rejects with StoreError. */
  readonly open: (path: string) => Promise<AccountingReader>;
  /** The accounting DB behind the site's server, at its unix socket. Rejects with ClientError or StoreError. */
  readonly askServer: (socket: string) => Promise<AccountingReader>;
  /** Records so far of the jobs that run on this host and that the caller may see. */
  readonly running: (settings: Settings) => Promise<readonly JobRecord[]>;
}

export const realSources: Sources = {
  open: async (path) => {
    const { openReader } = await import('../accounting/open-store.js');
    // Who may not read it himself asks the site's server.
    return openReader(path, { tried: true });
  },
  askServer: async (socket) => {
    // Most hosts have none: nothing is loaded for it there.
    accessSync(socket);
    const { openRemoteReader } = await import('../server/remote-reader.js');
    return openRemoteReader(socket);
  },
  running: async (settings) => {
    const { runningRecords } = await import('../sampler/node-store/live-records.js');
    return runningRecords(settings);
  },
};

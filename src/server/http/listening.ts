import type { Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf } from '../../base/error-code';
import { UserError, reasonOf } from '../../base/user-error';
import { listenAddressText, listenAt, siteUrl, type ListenAddress } from './listen';

const LAST_ANSWERS_MS = 5000;
const AGAIN_MS = 5000;

function stopListening(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), LAST_ANSWERS_MS);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
    server.closeIdleConnections();
  });
}

/** The address with the port that the system has chosen. */
function listeningAt(server: Server, address: ListenAddress): ListenAddress {
  const bound = server.address();
  return address.kind === 'tcp' && typeof bound === 'object' && bound !== null
    ? { ...address, port: bound.port }
    : address;
}

const isPort = ({ kind }: ListenAddress): boolean => kind === 'tcp';

const isTaken = (address: ListenAddress, error: unknown): boolean =>
  isPort(address) && error instanceof UserError && codeOf(error.cause) === 'EADDRINUSE';

/** One server for each wanted address. */
export class Listening {
  private readonly servers: { readonly server: Server; readonly address: ListenAddress }[] = [];
  private readonly end = new AbortController();

  constructor(
    private readonly wanted: readonly ListenAddress[],
    private readonly log: (line: string) => void,
  ) {}

  /** Where it listens, with the ports that were chosen. */
  get addresses(): readonly ListenAddress[] {
    return this.servers.map(({ address }) => address);
  }

  /** Where a browser finds the pages (siteUrl); also null as long as another program has the port. */
  url(given: string): string | null {
    const { addresses, wanted } = this;
    return wanted.some(isPort) && !addresses.some(isPort) ? null : siteUrl(given, addresses);
  }

  /**
   * Rejects with UserError if it can't listen at an address. If there is more than one address, a port that another
   * program has is waited for instead: any user can have taken it first.
   */
  async begin(make: (address: ListenAddress) => Server): Promise<void> {
    for (const address of this.wanted)
      try {
        await this.open(address, make);
      } catch (error) {
        if (this.wanted.length === 1 || !isTaken(address, error)) throw error;
        this.log(`${reasonOf(error)}; trying again`);
        void this.openLater(address, make);
      }
  }

  async stop(): Promise<void> {
    this.end.abort();
    await Promise.all(this.servers.map(({ server }) => stopListening(server)));
  }

  private async open(address: ListenAddress, make: (address: ListenAddress) => Server): Promise<void> {
    const server = make(address);
    await listenAt(server, address);
    if (this.end.signal.aborted) {
      await stopListening(server);
      return;
    }
    server.on('error', (error) => this.log(`${listenAddressText(address)}: ${error.message}`));
    this.servers.push({ server, address: listeningAt(server, address) });
  }

  private async openLater(address: ListenAddress, make: (address: ListenAddress) => Server): Promise<void> {
    const { signal } = this.end;
    for (;;) {
      await sleep(AGAIN_MS, undefined, { ref: false, signal }).catch(() => undefined);
      if (signal.aborted) return;
      try {
        await this.open(address, make);
        this.log(`serves ${listenAddressText(address)}, too`);
        return;
      } catch {
        // Still taken.
      }
    }
  }
}

import type { Settings } from '../record/settings';
import type { Sources } from './sources';
import { chooseStores, openStores, type OpenStores } from './stores';
import type { Terminal } from './terminal';

/** The accounting DBs that a command reads: the one that it was given, else the site's and the caller's own. */
export function commandStores(
  given: string | undefined,
  { accounting, serve_socket: socket }: Pick<Settings, 'accounting' | 'serve_socket'>,
  { env }: Pick<Terminal, 'env'>,
  { open, askServer: ask }: Pick<Sources, 'open' | 'askServer'>,
): Promise<OpenStores> {
  return openStores(chooseStores(given, accounting, env), open, { socket, ask });
}

import { isLoopback } from '../../base/loopback';
import { holdsPassword, withoutPassword } from '../../record/postgres-url';
import { StoreError } from '../store-error';

const SSL_MODES = ['disable', 'prefer', 'require', 'verify-full'] as const;
type SslMode = (typeof SSL_MODES)[number];

/** A PostgreSQL server, and what to ask it for. */
export interface Location {
  /** The server's host, or the directory (absolute path) of its unix socket. */
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string | null;
  readonly sslMode: SslMode;
  /** File with CAs, one of which must have signed the server's certificate; null: the CAs that the system trusts. */
  readonly sslRootCert: string | null;
  /** The URL, for messages; it can't contain a password. */
  readonly text: string;
}

const FORM = 'write postgres://USER@HOST[:PORT]/DATABASE?sslmode=verify-full';
/** Of a URL's list of servers: an IPv6 address in brackets or another host, and the port. */
const SERVER = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]*))(?::(\d+))?$/;

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** The mode if the URL names none: on the way to another host anyone could pose as the server. */
function usualMode(host: string): SslMode {
  if (host.startsWith('/')) return 'disable';
  return isLoopback(host) ? 'prefer' : 'verify-full';
}

/**
 * Reads `postgres://[USER@]HOST[:PORT],.../DATABASE[?sslmode=...&sslrootcert=...&host=DIRECTORY]`: the servers that may
 * have the accounting DB, in the order in which to try them. The certificate of a server on another host is checked
 * unless `sslmode` says otherwise (disable, prefer, require). Throws StoreError if the URL can't be used; a password is
 * refused, since many can read settings and command lines.
 */
export function locationsOf(url: string): readonly Location[] {
  const refuse = (reason: string, hint = 'correct "accounting" in qmemacct.toml'): never => {
    throw new StoreError(withoutPassword(url), reason, hint, false);
  };
  const [, authority, path, query = ''] = /^postgres(?:ql)?:\/\/([^/?#]*)\/([^/?#]*)(?:\?([^#]*))?$/.exec(url) ?? [];
  if (authority === undefined || path === undefined) return refuse('not a URL of PostgreSQL', FORM);
  const [, userInfo, list = ''] = /^(?:(.*)@)?([^@]*)$/.exec(authority) ?? [];
  if (holdsPassword(url)) return refuse('it holds a password', 'put that into accounting_credentials');
  const servers = list.split(',').map((text) => SERVER.exec(text) ?? refuse(`"${text}" is not a host`, FORM));
  const options = new URLSearchParams(query);
  const unknown = [...options.keys()].find((key) => !['sslmode', 'sslrootcert', 'host', 'port'].includes(key));
  if (unknown !== undefined)
    return refuse(`its option "${unknown}" is none of sslmode, sslrootcert, host and port`, 'leave it out');
  const hosts =
    options.get('host')?.split(',') ?? servers.map(([, bracketed, plain = '']) => bracketed ?? decoded(plain));
  const ports = options.get('port')?.split(',') ?? hosts.map((_host, index) => servers[index]?.[3] ?? '5432');
  if (ports.length > 1 && ports.length !== hosts.length)
    return refuse(`it names ${hosts.length} hosts and ${ports.length} ports`);
  const database = decoded(path);
  const user = userInfo ? decoded(userInfo) : null;
  if (user === null && userInfo) return refuse('its user is not well encoded', 'write a % of its name as %25');
  const sslRootCert = options.get('sslrootcert');
  if (sslRootCert !== null && !sslRootCert.startsWith('/')) return refuse('its sslrootcert is not an absolute path');
  return hosts.map((host, index): Location => {
    if (!host || !database) return refuse('it lacks the host or the database', FORM);
    const port = Number(ports[ports.length === 1 ? 0 : index]);
    if (!(Number.isInteger(port) && port > 0 && port < 65536)) return refuse('its port is invalid', 'leave it out');
    const asked = options.get('sslmode') ?? (sslRootCert === null ? usualMode(host) : 'verify-full');
    const sslMode = SSL_MODES.find((mode) => mode === asked);
    if (sslMode === undefined) return refuse(`its sslmode is none of ${SSL_MODES.join(', ')}`, 'write verify-full');
    if (sslRootCert !== null && sslMode !== 'verify-full')
      return refuse('it has an sslrootcert that nothing checks', 'write sslmode=verify-full');
    return { host, port, database, user, sslMode, sslRootCert, text: url };
  });
}

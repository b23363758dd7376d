import { codeOf } from '../../base/error-code';
import { StoreError, type Fault } from '../store-error';

const DOWN: Fault = {
  reason: 'the server does not answer',
  hint: 'see that PostgreSQL runs there and can be reached from this host',
  retry: true,
};
const AWAY: Fault = { reason: 'the server is starting or stopping', hint: 'try again in a moment', retry: true };
const WRONG_PASSWORD: Fault = {
  reason: 'it rejects the password',
  hint: 'check accounting_credentials (HOST:PORT:DATABASE:USER:PASSWORD)',
  retry: false,
};
const NO_ROLE: Fault = {
  reason: 'it denies this user access',
  hint: 'create the role there, grant it qmemacct_deliver, and let pg_hba.conf name it',
  retry: false,
};
const NOT_ALLOWED: Fault = {
  reason: 'this user may not do that',
  hint: 'GRANT qmemacct_deliver (hooks), qmemacct_read (reports) or qmemacct_owner (nightly job) to it',
  retry: false,
};
const NO_SCHEMA: Fault = {
  reason: 'it has no tables of this qmemacct',
  hint: 'an admin runs "qmemacct database init URL"',
  retry: false,
};
const NO_DATABASE: Fault = {
  reason: 'there is no such database',
  hint: 'correct its name, or make it (createdb) and run "qmemacct database init URL"',
  retry: false,
};
const FULL: Fault = { reason: "the server's disk is full", hint: 'make room there', retry: true };
const READ_ONLY: Fault = {
  reason: 'it can only be read (a standby, or set so)',
  hint: 'name the primary server in "accounting", or all of them: postgres://HOST1,HOST2/DATABASE',
  retry: true,
};
const BUSY: Fault = {
  reason: 'it is too busy',
  hint: 'try again; see max_connections, or put PgBouncer before it',
  retry: true,
};
const GIVEN_UP: Fault = {
  reason: 'it has ended a statement',
  hint: 'raise the statement_timeout of this role, or try again when the server has less to do',
  retry: true,
};
const UNKNOWN_CA: Fault = {
  reason: 'no CA that this host trusts has signed its certificate',
  hint: 'add the CA to those of the system, or name its file: "accounting" = postgres://...?sslrootcert=/FILE.pem',
  retry: false,
};
const OTHER_NAME: Fault = {
  reason: 'its certificate is for another name',
  hint: 'write the host in "accounting" as the certificate names it, or give the server a certificate for this name',
  retry: false,
};
const OUT_OF_DATE: Fault = {
  reason: 'its certificate is not valid today',
  hint: 'renew it on the server; see that the clocks of both hosts are right',
  retry: false,
};
const NO_TLS: Fault = {
  reason: 'it speaks no TLS',
  hint: 'set ssl = on in its postgresql.conf; or, on a network that nobody else can reach, sslmode=disable in "accounting"',
  retry: false,
};
const TLS: Fault = {
  reason: "its certificate can't be used",
  hint: 'see ssl_cert_file in its postgresql.conf, and sslrootcert in "accounting"',
  retry: false,
};

const INTERNAL: Fault = { reason: 'the server reports an internal fault', hint: "see the server's log", retry: true };

/** Data exceptions, violated constraints, what a function raises: the record's fault. Other errors are retried. */
const OF_THE_RECORD = /^(?:22|23|P0)/;

const NO_RIGHT = '42501';

/** By SQLSTATE (PostgreSQL manual, appendix A): the first entry that the state begins with counts. */
const BY_STATE: readonly (readonly [string, Fault])[] = [
  ['28P01', WRONG_PASSWORD],
  ['28', NO_ROLE],
  ['3D000', NO_DATABASE],
  ['3F000', NO_SCHEMA],
  ['42P01', NO_SCHEMA],
  ['42883', NO_SCHEMA],
  ['42704', { ...NO_SCHEMA, reason: 'its tables are of an older qmemacct' }],
  [NO_RIGHT, NOT_ALLOWED],
  ['25006', READ_ONLY],
  ['53100', FULL],
  ['53', BUSY],
  ['40', BUSY],
  ['55', BUSY],
  ['57014', GIVEN_UP],
  ['57', AWAY],
  ['58', { reason: "the server's disk fails", hint: "see the server's log", retry: true }],
  ['08', DOWN],
];

/** By errno, and by the client's codes for connections. */
const BY_CODE: Readonly<Record<string, Fault>> = {
  CONNECTION_CLOSED: AWAY,
  CONNECTION_ENDED: AWAY,
  CONNECTION_DESTROYED: AWAY,
  CONNECT_TIMEOUT: DOWN,
  ENOTFOUND: { reason: 'its host has no address', hint: 'correct the host in "accounting"', retry: true },
  ERR_TLS_CERT_ALTNAME_INVALID: OTHER_NAME,
  CERT_HAS_EXPIRED: OUT_OF_DATE,
  CERT_NOT_YET_VALID: OUT_OF_DATE,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNKNOWN_CA,
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_CA,
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_CA,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_CA,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_CA,
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_TLS,
  SASL_SIGNATURE_MISMATCH: { ...TLS, reason: 'it is not the server that has our password' },
};

function faultOf(error: unknown): Fault | null {
  const code = codeOf(error);
  if (BY_CODE[code]) return BY_CODE[code];
  // Node's message if a server closes the connection instead of starting TLS.
  if (code === 'ECONNRESET' && error instanceof Error && error.message.includes('before secure TLS')) return NO_TLS;
  if (/^(?:ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/.test(code)) return TLS;
  // Before the SQLSTATEs, since some errnos have five letters, too (EPIPE); no SQLSTATE begins with E.
  if (/^E[A-Z][A-Z0-9]*$/.test(code)) return DOWN;
  if (!/^[0-9A-Z]{5}$/.test(code) || OF_THE_RECORD.test(code)) return null;
  return BY_STATE.find(([begin]) => code.startsWith(begin))?.[1] ?? INTERNAL;
}

/** Whether an error comes from the server or the way to it, not from the records at hand. */
export function isStoreFault(error: unknown): boolean {
  return error instanceof StoreError || faultOf(error) !== null;
}

/** Whether an error says that this user may not do that. */
export const isNotAllowed = ({ cause }: StoreError): boolean => codeOf(cause) === NO_RIGHT;

/** An error of PostgreSQL or of the connection as a StoreError; other errors as they are. `where`: the URL, no password in it. */
export function storeError(where: string, error: unknown): unknown {
  if (error instanceof StoreError) return error;
  const fault = faultOf(error);
  if (fault === null) return error;
  const message = error instanceof Error ? error.message.split('\n')[0] : '';
  return new StoreError(where, `${fault.reason} (${message ?? ''})`, fault.hint, fault.retry, error);
}

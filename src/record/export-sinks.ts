import { isLoopback } from '../base/loopback';
import {
  fail,
  list,
  map,
  name,
  number,
  object,
  oneOf,
  refined,
  string,
  type Shape,
  type ValueOf,
  isObject,
} from '../base/shape';
import type { Setting } from './setting';

/** Where exports are pushed to: the tables [[export]] of the configuration. */

const SINK_KINDS = ['graphite', 'graphite-pickle', 'influx', 'otlp', 'elasticsearch'] as const;
const SINK_CONTENTS = ['node', 'cluster', 'records'] as const;

/** A member that may be left out. */
function absentAs<T>(fallback: T, shape: Shape<T>): Shape<T> {
  return { ...shape, read: (value) => (value === undefined ? fallback : shape.read(value)) };
}

function matching(pattern: RegExp, what: string): Shape<string> {
  return refined(string, (value) => (pattern.test(value) ? value : fail(what)));
}

const pathOrNone = matching(/^(?:\/|$)/, 'is not an absolute path');
const label = { key: /^[a-z_][a-z0-9_]{0,63}$/i, what: 'name of a label (letters, digits and _)', most: 32 };

const MEMBERS = {
  name: matching(/^\w[\w.-]{0,63}$/, 'is not a name of letters, digits and . _ -'),
  kind: oneOf(SINK_KINDS),
  address: name(2000),
  what: oneOf(SINK_CONTENTS),
  interval: absentAs(60, number(1, 3600)),
  labels: absentAs({}, map(name(256), label)),
  user: absentAs('', string),
  credentials: absentAs('', pathOrNone),
  ca: absentAs('', pathOrNone),
  names: absentAs('qmemacct', oneOf(['qmemacct', 'fructosa'])),
  spool_mib: absentAs(64, number(1, 65536)),
};
const members = object(MEMBERS);
/** A sink as the configuration has it; `interval` in s. */
export type SinkSettings = ValueOf<typeof members>;

function addressProblem({ kind, address, user, credentials }: SinkSettings): string | null {
  const url = URL.canParse(address) ? new URL(address) : null;
  const isGraphite = kind.startsWith('graphite');
  const form = isGraphite ? 'tcp://HOST:PORT or tls://HOST:PORT' : 'http(s)://HOST[:PORT]/PATH';
  if (url === null || !(isGraphite ? /^(?:tcp|tls):$/ : /^https?:$/).test(url.protocol) || url.hostname === '')
    return `is not ${form}`;
  if (url.username !== '' || url.password !== '') return 'holds a user or password: write "user" and "credentials"';
  if (isGraphite) {
    if (url.port === '' || !/^\/?$/.test(url.pathname)) return `is not ${form}`;
    return user + credentials === '' ? null : 'is of Graphite, which knows no "user" and no "credentials"';
  }
  if (kind === 'elasticsearch' && !/^\/[a-z0-9][a-z0-9._-]*$/.test(url.pathname))
    return 'names no index: write http(s)://HOST[:PORT]/INDEX, in lower case';
  if (credentials !== '' && url.protocol === 'http:' && !isLoopback(url.hostname))
    return 'would carry the secret of "credentials" readable over the network: write https://';
  return null;
}

function problemOf(sink: SinkSettings): string | null {
  const { kind, what, user, credentials, names } = sink;
  const address = addressProblem(sink);
  if (address !== null) return `has an "address" that ${address}`;
  if ((kind === 'elasticsearch') !== (what === 'records'))
    return 'sends what its "kind" does not take: records go to elasticsearch, "node" and "cluster" to the others';
  if (user !== '' && credentials === '') return 'has a "user" and no "credentials", the file with the password';
  if (names === 'fructosa' && (what !== 'node' || !kind.startsWith('graphite')))
    return 'has names = "fructosa", which are for what = "node" sent to Graphite';
  return null;
}

const ONE: Shape<SinkSettings> = {
  schema: { type: 'object' },
  read: (value) => {
    if (!isObject(value)) return fail('is not a table');
    const unknown = Object.keys(value).find((key) => !Object.hasOwn(MEMBERS, key));
    if (unknown !== undefined)
      return fail(`has the unknown key "${unknown}" (known are ${Object.keys(MEMBERS).join(', ')})`);
    const sink = members.read(value);
    const problem = problemOf(sink);
    return problem === null ? sink : fail(problem);
  },
};

/** The tables [[export]]. */
export function sinkTables(help: string): Setting<readonly SinkSettings[]> {
  const shape = refined(list(ONE, 32), (sinks) => {
    const twice = sinks.find(({ name: one }, index) => sinks.findIndex((other) => other.name === one) < index);
    return twice === undefined ? sinks : fail(`has two sinks with the name "${twice.name}"`);
  });
  return { fallback: [], shape, allowed: '', help, hint: 'write [[export]] and keys below it' };
}

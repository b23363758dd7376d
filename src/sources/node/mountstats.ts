/** Calls of one NFS operation (READ, GETATTR, ...) since the mount. */
export interface NfsOperation {
  readonly name: string;
  readonly calls: number;
  /** Requests sent for them, repetitions included. */
  readonly transmissions: number;
  readonly timeouts: number;
  /** Milliseconds, summed over the calls: waiting to be sent, between request and answer, in all. */
  readonly queueMs: number;
  readonly roundTripMs: number;
  readonly totalMs: number;
  /** Calls that ended in an error; null before Linux 5.3. */
  readonly errors: number | null;
}

/** One NFS mount of `/proc/self/mountstats`. */
export interface NfsMount {
  /** As the kernel writes it: blanks are \040. */
  readonly mountPoint: string;
  /** Bytes: read and written by programs, the same past the page cache (O_DIRECT), and from and to the server. */
  readonly bytes: {
    readonly read: number;
    readonly write: number;
    readonly directRead: number;
    readonly directWrite: number;
    readonly serverRead: number;
    readonly serverWrite: number;
  };
  readonly operations: readonly NfsOperation[];
}

const DEVICE = /^device \S+ mounted on (\S+) with fstype (nfs4?)(?: statvers=(\d+\.\d+))?$/;
const OPERATION = /^\s+(\w+): (\d{1,20}(?: \d{1,20}){7,8})$/;

function numbersOf(text: string): readonly number[] {
  return text.trim().split(/\s+/).map(Number);
}

function parseBytes(line: string): NfsMount['bytes'] | null {
  const match = /^\s*bytes:\s+(\d{1,20}(?: \d{1,20}){5,7})\s*$/.exec(line);
  if (match === null) return null;
  const [read = 0, write = 0, directRead = 0, directWrite = 0, serverRead = 0, serverWrite = 0] = numbersOf(
    match[1] ?? '',
  );
  return { read, write, directRead, directWrite, serverRead, serverWrite };
}

function parseOperation(line: string): NfsOperation | null {
  const [, name, rest] = OPERATION.exec(line) ?? [];
  if (name === undefined || rest === undefined) return null;
  const [calls = 0, transmissions = 0, timeouts = 0, , , queueMs = 0, roundTripMs = 0, totalMs = 0, errors = null] =
    numbersOf(rest);
  return { name, calls, transmissions, timeouts, queueMs, roundTripMs, totalMs, errors };
}

function parseMount(header: string, lines: readonly string[]): NfsMount | null {
  const [, mountPoint, , version] = DEVICE.exec(header) ?? [];
  if (mountPoint === undefined || version === undefined) return null;
  let bytes: NfsMount['bytes'] | null = null;
  const operations: NfsOperation[] = [];
  for (const line of lines) {
    bytes ??= parseBytes(line);
    const operation = parseOperation(line);
    if (operation !== null) operations.push(operation);
  }
  return bytes === null ? null : { mountPoint, bytes, operations };
}

/** NFS mounts of `/proc/self/mountstats`, in its order; other file systems have no statistics there. */
export function parseMountstats(text: string): readonly NfsMount[] {
  const mounts: NfsMount[] = [];
  // A last line without a newline was cut off: its number may lack digits.
  const lines = text.split('\n').slice(0, -1);
  for (let at = 0; at < lines.length;) {
    const header = lines[at] ?? '';
    let end = at + 1;
    while (end < lines.length && !(lines[end] ?? '').startsWith('device ')) end += 1;
    const mount = parseMount(header, lines.slice(at + 1, end));
    if (mount !== null) mounts.push(mount);
    at = end;
  }
  return mounts;
}

/** Device ("0:52") of each NFS mount point in `/proc/self/mountinfo`: equal for mounts of the same file system. */
export function parseNfsDevices(text: string): ReadonlyMap<string, string> {
  const devices = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [, device, mountPoint] = /^\d+ \d+ (\d+:\d+) \S+ (\S+) .* - nfs4? /.exec(line) ?? [];
    if (device !== undefined && mountPoint !== undefined) devices.set(mountPoint, device);
  }
  return devices;
}

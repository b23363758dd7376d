import { spawn } from 'node:child_process';
import { killGroup } from '../support/kill-group';
import { PATIENCE_MS } from '../support/until';

export interface CommandResult {
  /** The exit status, or 128 + the signal's number as a shell has it. */
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  /** The whole environment of the command; nothing of this process's own is passed on. */
  readonly env: Readonly<Record<string, string>>;
  readonly stdin?: string;
  /** Milliseconds until the command's process group is killed and the call fails. Default PATIENCE_MS. */
  readonly timeoutMs?: number;
}

/** How long to wait for the end of output if a process that the command left behind holds its pipes. */
const pipeGraceMs = 300;

const signalNumbers: Readonly<Partial<Record<NodeJS.Signals, number>>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGABRT: 6,
  SIGKILL: 9,
  SIGSEGV: 11,
  SIGPIPE: 13,
  SIGTERM: 15,
};

/** Runs a command to its end. Rejects if it can't be started or does not end within the time limit. */
export function run(argv: readonly string[], options: RunOptions): Promise<CommandResult> {
  const [file, ...args] = argv;
  if (file === undefined) return Promise.reject(new Error('no command to run'));
  const timeoutMs = options.timeoutMs ?? PATIENCE_MS;
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { env: { ...options.env }, cwd: '/', detached: true });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
    // A command that ends without reading its input breaks the pipe, which is no error.
    child.stdin.on('error', () => undefined);
    child.stdin.end(options.stdin ?? '');

    const text = (chunks: readonly Buffer[]): string => Buffer.concat(chunks).toString('utf8');
    let grace: NodeJS.Timeout | undefined;
    const limit = setTimeout(() => {
      if (child.pid !== undefined) killGroup(child.pid);
      settle();
      reject(
        new Error(
          `no end within ${timeoutMs} ms, killed: ${argv.join(' ')}\nstdout: ${text(out)}\nstderr: ${text(err)}`,
        ),
      );
    }, timeoutMs);
    const settle = (): void => {
      clearTimeout(limit);
      clearTimeout(grace);
      child.stdout.destroy();
      child.stderr.destroy();
    };
    const finish = (code: number | null, signal: NodeJS.Signals | null): void => {
      settle();
      const status = code ?? 128 + (signal === null ? 0 : (signalNumbers[signal] ?? 0));
      resolve({ status, stdout: text(out), stderr: text(err) });
    };
    child.on('error', (cause) => {
      settle();
      reject(new Error(`can not start ${file}: ${cause.message}`, { cause }));
    });
    child.on('exit', (code, signal) => {
      // setImmediate: what is in the pipes is read first, even if this process stood still meanwhile.
      grace = setTimeout(() => {
        setImmediate(finish, code, signal);
      }, pipeGraceMs);
    });
    child.on('close', finish);
  });
}

/** As run(), and rejects for a status other than 0. Returns standard output. */
export async function runChecked(argv: readonly string[], options: RunOptions): Promise<string> {
  const result = await run(argv, options);
  if (result.status !== 0) throw new Error(describeFailure(argv, result));
  return result.stdout;
}

export function describeFailure(argv: readonly string[], result: CommandResult): string {
  return `status ${result.status} from: ${argv.join(' ')}\n${result.stdout}${result.stderr}`.trimEnd();
}

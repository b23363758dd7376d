import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { MailError, saidByServer, type MailFailure, type WiredMessage } from './message';

const PATIENCE_MS = 60_000;

/** Exit statuses of a sendmail (sysexits.h). */
const EX_TEMPFAIL = 75;
const EX_ABOUT_RECIPIENT: readonly number[] = [65, 67, 68];

function failureOf(status: number): MailFailure {
  if (status === EX_TEMPFAIL) return 'later';
  return EX_ABOUT_RECIPIENT.includes(status) ? 'refused' : 'unreachable';
}

function notStarted(path: string, error: NodeJS.ErrnoException): MailError {
  const fix = error.code === 'ENOENT' ? '; install a mail server on this host, or set mail_server' : '';
  return new MailError('unreachable', `${path}: ${error.message}${fix}`, error);
}

/** Throws MailError if there is no executable sendmail at the path. */
export function findSendmail(path: string): void {
  try {
    accessSync(path, constants.X_OK);
  } catch (error) {
    throw notStarted(path, error as NodeJS.ErrnoException);
  }
}

/** Hands a message to the sendmail of this host, without a shell. Rejects with MailError. */
export async function sendBySendmail(path: string, message: WiredMessage, patience = PATIENCE_MS): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const child = spawn(path, ['-i', '-f', message.from, '--', message.to], {
      cwd: '/',
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' },
      stdio: ['pipe', 'ignore', 'pipe'],
    });
    let complaint = '';
    let tookTooLong = false;
    const alarm = setTimeout(() => {
      tookTooLong = true;
      child.kill('SIGKILL');
      // A child of the sendmail may keep the pipe open for ever.
      child.stderr.destroy();
    }, patience);
    child.on('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(alarm);
      reject(notStarted(path, error));
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      complaint = (complaint + text).slice(-2000);
    });
    child.on('close', (status) => {
      clearTimeout(alarm);
      if (status === 0) {
        resolve();
        return;
      }
      const said = saidByServer(complaint);
      if (status === null) {
        const why = tookTooLong ? `did not end within ${patience / 1000} s` : 'was killed';
        reject(new MailError('doubt', `${path}: ${why}${said === '' ? '' : ` (${said})`}`));
      } else
        reject(new MailError(failureOf(status), `${path}: ended with status ${status}: ${said || 'no reason given'}`));
    });
    // Ignored: a sendmail that ends early gives the reason by its exit status.
    child.stdin.on('error', () => undefined);
    // Local line ends (LF): some sendmails would double the carriage returns.
    child.stdin.end(Buffer.from(message.raw.toString('latin1').replaceAll('\r\n', '\n'), 'latin1'));
  });
}

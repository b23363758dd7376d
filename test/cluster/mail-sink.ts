import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { readMail, type ReadMail } from '../cli/mail/read-mail';
import type { Site } from './site';

const PORT = 2525;

/** Settings that send the mails of owners who ask for them to the sink on the same host. */
export const mailSettings: readonly string[] = [
  `mail_server = "smtp://127.0.0.1:${PORT}"`,
  'mail_from = "qmemacct@example.org"',
  'mail_domain = "example.org"',
  'mail_owners = "listed"',
];

interface Sink {
  readonly mails: { readonly to: string; readonly mail: ReadMail }[];
  readonly end: () => void;
}

/** Starts a mail server on a host, which keeps the mails that it gets. */
export async function startSink({ cell }: Site, host: string): Promise<Sink> {
  const { argv, env } = cell.command(host, [process.execPath, join(__dirname, 'smtp-sink.js'), String(PORT)]);
  const child = spawn(argv[0] ?? '', argv.slice(1), { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const mails: { readonly to: string; readonly mail: ReadMail }[] = [];
  await new Promise<void>((resolve, reject) => {
    child.on('exit', reject);
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line === 'ready') {
        resolve();
        return;
      }
      const { to, raw } = JSON.parse(line) as { to: string[]; raw: string };
      mails.push({ to: to.join(' '), mail: readMail(raw) });
    });
  });
  return { mails, end: () => child.kill() };
}

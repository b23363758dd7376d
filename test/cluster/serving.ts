import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { SETTINGS_FILE } from '../../src/record/settings';
import { adminUser } from './kind';
import type { Site } from './site';
import { COMMAND } from '../support/qmemacct';
import { until } from '../support/until';

const MASTER = 'ge0';
const SERVE = ['node', COMMAND, 'serve'] as const;

/**
 * Starts `qmemacct serve` on the master with these settings, as the owner of the accounting DB and at its socket alone.
 * Resolves to a function that stops the server.
 */
export async function serveOnMaster(
  { cell, product }: Site,
  settings: readonly string[],
): Promise<() => Promise<void>> {
  const lines = [`accounting = "${product.accounting}"`, 'serve_port = 0', `deliver_as = "${adminUser}"`, ...settings];
  await cell.check(MASTER, `cat >${SETTINGS_FILE} && chmod 644 ${SETTINGS_FILE}`, { stdin: `${lines.join('\n')}\n` });
  await cell.check(MASTER, `mkdir -p /run/qmemacct && install -d -o ${adminUser} /run/qmemacct/serve`);
  const { argv, env } = cell.command(MASTER, SERVE, { user: adminUser });
  const server = spawn(argv[0] ?? '', argv.slice(1), { env, cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] });
  let output = '';
  server.stderr.on('data', (piece: Buffer) => (output += piece.toString()));
  await until(
    () => output.includes('serves '),
    () => `the start of the server: ${output}`,
  );
  return async () => {
    const end = once(server, 'exit');
    server.kill();
    await end;
  };
}

import { spawnSync } from 'node:child_process';
import { attachCell, clusterObstacle, downCell, upCell, type Cell } from './cell';
import { recordQstat } from './record-qstat';

const usage = `usage: npm run cluster -- COMMAND
  up                              bring a Grid Engine cell up and keep it
  down                            end it and remove all of it, or what a crash left of it
  status                          queues, jobs and processes
  submit USER -- QSUB-ARGS...     qsub in the user's home directory, a script from standard input
  on HOST[:USER] -- COMMAND...    run a command on ge0 (master), ge1 or ge2
  record DIRECTORY                brings a cell up and records what qstat and qhost print in it, as fixtures
`;

async function main(args: readonly string[]): Promise<number> {
  const [command, target] = args;
  const dashes = args.indexOf('--');
  const rest = dashes === -1 ? args.slice(2) : args.slice(dashes + 1);
  switch (command) {
    case 'up':
      return up();
    case 'down':
      await downCell();
      return 0;
    case 'status':
      return status();
    case 'submit': {
      if (target === undefined || rest.length === 0) break;
      const cell = attachCell();
      return interactive(cell, cell.master, target, ['qsub', ...rest]);
    }
    case 'on': {
      if (target === undefined || rest.length === 0) break;
      const [host = target, user = 'root'] = target.split(':');
      return interactive(attachCell(), host, user, rest);
    }
    case 'record':
      if (target === undefined) break;
      await recordQstat(target);
      return 0;
    case undefined:
    default:
      break;
  }
  process.stderr.write(usage);
  return 2;
}

async function up(): Promise<number> {
  const obstacle = clusterObstacle();
  if (obstacle !== null) {
    process.stderr.write(`no Grid Engine cell can run here: ${obstacle}\n`);
    return 1;
  }
  const cell = await upCell({ keep: true });
  const users = cell.users.map(({ name }) => name).join(', ');
  process.stdout.write(
    `up in ${cell.stateDir}: master ${cell.master}, execution ${cell.execHosts.join(', ')}; users ${users}\n`,
  );
  return 0;
}

async function status(): Promise<number> {
  const cell = attachCell();
  process.stdout.write(await cell.qstat(['-f', '-u', '*']));
  for (const { name } of cell.hosts) {
    process.stdout.write(`\n${name}\n`);
    for (const { pid, command } of cell.processes(name))
      process.stdout.write(`${String(pid).padStart(8)} ${command}\n`);
  }
  return 0;
}

/** Runs a command on a host with this process's own input and output. */
function interactive(cell: Cell, host: string, user: string, command: readonly string[]): number {
  const { argv, env } = cell.command(host, command, { user, env: { TERM: process.env.TERM ?? 'dumb' } });
  const result = spawnSync(argv[0] ?? '', argv.slice(1), { env, cwd: '/', stdio: 'inherit' });
  if (result.error !== undefined) throw result.error;
  return result.status ?? 1;
}

main(process.argv.slice(2)).then(
  (status) => {
    process.exitCode = status;
  },
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  },
);

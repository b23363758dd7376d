import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { burner } from '../burners/build';
import { upCell, type Cell } from './cell';
import { client } from './kind';
import { until } from '../support/until';

/** One answer of qstat or qhost, its standard output in the file of this name. */
interface Answer {
  readonly file: string;
  readonly command: readonly string[];
  readonly host: string;
  readonly status: number;
  readonly stderr: string;
}

type Command = readonly ['qhost' | 'qstat', ...string[]];

/** What the live commands ask, except `qstat -j`, and other forms of the same questions. */
const LISTS = {
  'qhost-F-q-j': ['qhost', '-F', '-q', '-j', '-xml'],
  'qhost-j': ['qhost', '-j', '-xml'],
  'qstat-rs': ['qstat', '-u', '*', '-s', 'rs', '-r', '-ext', '-urg', '-xml'],
  'qstat-r': ['qstat', '-u', '*', '-r', '-xml'],
  qhost: ['qhost', '-xml'],
  'qstat-f-F': ['qstat', '-u', '*', '-f', '-F', 'h_vmem', '-xml'],
  'qstat-g-t': ['qstat', '-u', '*', '-g', 't', '-xml'],
  'qstat-g-d': ['qstat', '-u', '*', '-g', 'd', '-xml'],
} satisfies Readonly<Record<string, Command>>;
type List = keyof typeof LISTS;

const QUIET = ['-o', '/dev/null', '-j', 'y'];

const HOSTILE_VARIABLES = 'PS1=\u001b[1m$\u0001,A=<b>';

/**
 * Brings a cell up, puts it into the states that readers of qstat and qhost must understand, and records the exact bytes
 * that these print in `directory`: `SCENE.COMMAND.xml` and `answers.jsonl`.
 */
export async function recordQstat(directory: string): Promise<void> {
  mkdirSync(directory, { recursive: true });
  const answers: Answer[] = [];
  const cell = await upCell();
  try {
    const record = async (scene: string, name: string, command: Command, host = cell.master): Promise<void> => {
      answers.push(await ask(cell, directory, `${scene}.${name}.xml`, command, host));
    };
    const recordLists = async (scene: string, ...names: readonly List[]): Promise<void> => {
      for (const name of names) await record(scene, name, LISTS[name]);
    };
    await recordLists('idle', 'qhost-F-q-j', 'qstat-rs');
    const jobs = await busy(cell);
    await recordLists('busy', ...(Object.keys(LISTS) as List[]));
    await record('busy', 'qstat-j', ['qstat', '-j', jobs.join(','), '-xml']);
    await record('busy', 'qstat-j-unknown', ['qstat', '-j', '999999', '-xml']);
    await refuse(cell, async () => {
      await record('denied', 'qhost-j', LISTS['qhost-j'], 'ge2');
      await record('denied', 'qstat-j', ['qstat', '-j', jobs.join(','), '-xml'], 'ge2');
    });
    await loseHost(cell, 'ge2', jobs);
    await recordLists('host-down', 'qhost-F-q-j', 'qstat-rs', 'qstat-r');
    await cell.stopMaster();
    await recordLists('master-down', 'qhost-j', 'qstat-rs');
    await record('master-down', 'qstat-j', ['qstat', '-j', jobs.join(','), '-xml']);
  } finally {
    writeFileSync(join(directory, 'answers.jsonl'), answers.map((answer) => `${JSON.stringify(answer)}\n`).join(''));
    await cell.down();
  }
}

async function ask(cell: Cell, directory: string, file: string, command: Command, host: string): Promise<Answer> {
  const output = join(cell.stateDir, 'answer');
  const [program, ...words] = command;
  // Into a file, to keep the bytes: a name may not be UTF-8.
  const argv = ['sh', '-c', 'exec "$@" >"$0"', output, client(program), ...words];
  const { status, stderr } = await cell.on(host, argv);
  writeFileSync(join(directory, file), readFileSync(output));
  return { file, command, host, status, stderr };
}

/** Submits jobs of every kind; returns their numbers, running jobs first. */
async function busy(cell: Cell): Promise<readonly string[]> {
  const submit = (user: string, line: string, script = 'sleep 600', ...more: readonly string[]): Promise<string> =>
    cell.submit(user, [...QUIET, ...line.split(' '), ...more], script);
  const tight = await submit('gealice', '-N tight -pe tight 4 -l h_vmem=500M', parallel());
  const first = await submit('gebob', '-N first -pe tight-first 3-4 -l h_vmem=600M', parallel());
  const smp = await submit('gebob', '-N smp -pe smp 2 -q all.q@ge1', `${hold()}30`);
  const array = await submit('gealice', '-N array -t 1-9:2 -tc 2 -l h_vmem=300M');
  const stopped = await submit('gealice', '-N stopped -q *@ge2 -soft -l mem_free=1G,hostname=ge1');
  const again = await submit('gebob', '-N again -r y -q *@ge2', '[ -e a ] && sleep 600; touch a; exit 99');
  for (const [job, count] of Object.entries({ [tight]: 1, [first]: 1, [smp]: 1, [array]: 2, [stopped]: 1 }))
    await cell.waitRunning(job, count);
  await cell.check(cell.master, [client('qmod'), '-sj', stopped]);
  const broken = await submit('gealice', '-N broken -wd /nonexistent');
  const waiting = [
    await submit('gebob', '-h -A a&b', 'sleep 600', '-N', 'weird<&">x', '-v', HOSTILE_VARIABLES, '-ac', `k=<&"'>`),
    await submit('gebob', '-h -N wait -t 1-20 -l h_vmem=1.5G,h_rt=1:0:0 -soft -l swap_total=1M'),
    await latin1(cell),
    await submit('gealice', `-N after -hold_jid ${tight} -p -100 -pe tight* 2,4-8`),
    await submit('gealice', '-N big -l h_vmem=900G'),
    await submit('gealice', '-N tied -pe mpi 2 -q all.q@ge1 -l hostname=ge2 -masterq all.q'),
    await submit('gealice', '-h -N words -b y', '', '/bin/echo', 'a\nb', '\t<c>', "d'e"),
  ];
  await until(
    async () => (await cell.tasks()).some(({ job, state }) => job === broken && state === 'Eqw'),
    'the job without a directory in the error state',
  );
  await until(async () => {
    const details = await cell.qstat(['-j', `${tight},${first}`, '-xml']);
    return ['PET_id', 'past_usage', 'maxvmem'].every((word) => details.split(word).length > 2) ? true : null;
  }, 'usage of running and ended tasks');
  await until(
    async () => (await cell.tasks()).some(({ job, state }) => job === again && state === 'Rr'),
    'the second run of a job',
  );
  return [tight, first, smp, array, stopped, again, broken, ...waiting];
}

/** Script of a parallel job: tasks on both hosts, one of which ends at once, and a process of the script itself. */
function parallel(): string {
  const task = (host: string, command: string): string => `qrsh -inherit -nostdin ${host} ${command} &`;
  return [
    'set -- $(cut -d" " -f1 <"$PE_HOSTFILE")',
    task('$1', `${hold()}40`),
    task('$2', `${hold()}60`),
    task('$2', 'true'),
    `${hold()}20`,
    '',
  ].join('\n');
}

/** Submits a job with bytes that are not UTF-8: qsub takes these in environment, context and paths, not in a name. */
async function latin1(cell: Cell): Promise<string> {
  const hostile = "-v PLACE=$'caf\\xe9',SIZE=größe -ac k=$'caf\\xe9' -i $'caf\\xe9'";
  const qsub = `echo sleep 1 | ${client('qsub')} -terse -h -o /dev/null -j y -N bytes ${hostile}`;
  return (await cell.check(cell.master, qsub, { user: 'gealice' })).trim();
}

/** Does this work while ge2 is neither admin nor submit host. */
async function refuse(cell: Cell, work: () => Promise<void>): Promise<void> {
  for (const option of ['-ds', '-dh']) await cell.qconf([option, 'ge2']);
  try {
    await work();
  } finally {
    for (const option of ['-ah', '-as']) await cell.qconf([option, 'ge2']);
  }
}

/** Kills a host's execd, deletes a job that runs there, and waits until qmaster shows the host as unknown. */
async function loseHost(cell: Cell, host: string, [, , , , stopped = '']: readonly string[]): Promise<void> {
  await cell.setGlobal({ max_unheard: '00:00:10' });
  await cell.stopExecd(host, 'SIGKILL');
  await cell.qdel([stopped]);
  await until(
    async () => (await cell.queueStates()).get(`all.q@${host}`)?.includes('u') === true,
    () => `state u of ${host}`,
    1000,
  );
}

/** Command line of a burner that holds its memory until it is killed; the number of MiB is to be appended. */
function hold(): string {
  return `${burner('steady')} --hold=600000 --mib=`;
}

import { realpathSync } from 'node:fs';
import { userInfo } from 'node:os';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { MIB } from '../../base/units';
import { reasonOf } from '../../base/user-error';
import { readUntrusted } from '../../base/read-untrusted';
import { callerName } from '../../base/user-name';
import { programDigest } from '../../gridengine/program';
import { readSubmission } from '../../gridengine/qsub-options';
import { programsOf, programsOfRecord } from '../../record/programs';
import type { JobRecord } from '../../record/record';
import { loadSettings } from '../../record/settings';
import type { ClassFields } from '../../report/advice/class-advice';
import type { ClassHistory } from '../../report/advice/class-history';
import { classRequest, renderClass, renderClassCsv, renderClassJson } from '../../report/advice/class-screen';
import { nextRequestComplex } from '../../report/advice/fit';
import { latestRuns, recordsOf } from '../../report/job/job-run';
import { parseRisk } from '../arguments';
import { commandAction, CommandError, EXIT, usageError, type CommandContext, type GlobalOptions } from '../command';
import { findJob, findNewest, parseJobArguments, type JobSources } from '../job/find-job';
import { outputFormat, screenOf, warn, writeLines } from '../output';
import { historyOf } from '../records/find';
import { queueChoice } from '../records/options';
import { ACCOUNTING_OPTION, realSources, emptyExitStatus, withStores } from '../stores/stores';
import type { Terminal } from '../terminal';

interface AdviseOptions extends GlobalOptions {
  readonly risk: string;
  readonly name?: string;
  readonly owner?: string;
  readonly slots?: string;
  readonly pe?: string;
  readonly project?: string;
  readonly queue?: string;
  readonly cluster?: string;
  readonly accounting?: string;
}

const LARGEST_SCRIPT = 4 * MIB;

/** `qmemacct advise sim.sh`, `qmemacct advise -- -pe smp 4 sim.sh`, `qmemacct advise 4711` */
export function register(command: Command, context: CommandContext): void {
  command
    .argument(
      '[what...]',
      'a job (4711, 4711.3, "last"), a script with its #$ lines, or after "--" the arguments of a qsub command',
    )
    .option('--risk <percent>', 'the share of runs that may need more', '1%')
    .option('--name <job>', 'of jobs of this name; digits stand for any')
    .option('--owner <user>', 'of this user (default: you)')
    .option('--slots <n>', 'with this many slots')
    .option('--pe <name>', 'in this parallel environment')
    .option('--project <name>', 'of this project')
    .option('--queue <name>', 'in this queue')
    .option('--cluster <name>', 'of this cluster')
    .option(...ACCOUNTING_OPTION)
    .action(commandAction<AdviseOptions, [readonly string[]]>(context, showAdvice));
}

/** The kind of job that is asked about. */
interface Kind {
  readonly fields: ClassFields;
  /** The records of the job that is asked about. */
  readonly own: readonly JobRecord[];
  /** Its own `-l` options, in the form of Grid Engine's accounting category. */
  readonly requests: string;
}

function readScript(path: string): Buffer {
  try {
    return readUntrusted(realpathSync(path), LARGEST_SCRIPT);
  } catch (error) {
    throw new CommandError(
      `advise: the script can't be read: ${reasonOf(error)}; of a command write -- -b y COMMAND, of a job its number`,
      EXIT.unavailable,
    );
  }
}

/** The directory of a job without -cwd and -wd; null: no name service knows the caller. */
function homeDirectory(): string | null {
  try {
    return userInfo().homedir;
  } catch {
    return null;
  }
}

function submitted(words: readonly string[]): Kind {
  const submission = readSubmission(words, readScript);
  const { jobName, slots, pe, project, queue, requests, script, command, directory } = submission;
  const program = script !== null ? { script } : command !== null ? { command } : null;
  const digest = program && programDigest(program, directory === null ? homeDirectory() : resolve(directory));
  const programs = programsOf(digest, command);
  const fields = { owner: callerName(), jobName, slots, pe, project, queue, programs, cluster: null, complex: null };
  return { fields, own: [], requests };
}

function named({ name }: AdviseOptions): Kind {
  if (name === undefined)
    throw usageError('advise: whose jobs is not enough: add --name NAME, a script or a job number');
  const unknown = { slots: null, pe: null, project: null, queue: null, programs: [], cluster: null, complex: null };
  return { fields: { owner: callerName(), jobName: name, ...unknown }, own: [], requests: '' };
}

/** null: no such job is known, or its owner or name is not. */
async function ofJob(word: string | undefined, terminal: Terminal, sources: JobSources): Promise<Kind | null> {
  const [asked] = parseJobArguments(word === undefined ? [] : [word]);
  if (asked === undefined) return null;
  const job = 'job_id' in asked ? asked : await findNewest(asked, callerName(), terminal.now(), sources);
  const runs = job === null ? [] : (await findJob(job, sources)).runs;
  const [record] = recordsOf(latestRuns(runs));
  if (record?.owner == null || record.job_name === null) return null;
  const { owner, job_name: jobName, slots, pe, project, queue, cluster, grid_engine: account } = record;
  const own = recordsOf(runs);
  const programs = programsOfRecord(record);
  return {
    fields: { owner, jobName, slots, pe, project, queue, programs, cluster, complex: nextRequestComplex(record, own) },
    own,
    requests: account?.category ?? '',
  };
}

function slotsOption(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw usageError(`--slots: "${text}" is not a number of slots; write 4`);
  return Number(text);
}

/** The job's or submission's fields, overridden by the options. */
function chosen(fields: ClassFields, options: AdviseOptions): ClassFields {
  const { name, owner, slots, pe, project, queue, cluster } = options;
  return {
    owner: owner ?? fields.owner,
    jobName: name ?? fields.jobName,
    slots: slots === undefined ? fields.slots : slotsOption(slots),
    pe: pe ?? fields.pe,
    project: project ?? fields.project,
    queue: queue === undefined ? fields.queue : queueChoice(queue).queue,
    programs: fields.programs,
    cluster: cluster ?? fields.cluster,
    complex: fields.complex,
  };
}

/**
 * Fills in what the options leave open from the newest run that matches them: slots and PE, and if a project or queue
 * is given, both of these. Unchanged if no run matches or no such option is given. Rejects with StoreError.
 */
async function likeNewest(fields: ClassFields, history: ClassHistory): Promise<ClassFields> {
  const said = (['slots', 'pe', 'project', 'queue'] as const).filter((name) => fields[name] !== null);
  if (said.length === 0) return fields;
  const runs = await history.memoryRuns({ ...fields, slots: null, pe: null, project: null, queue: null });
  const alike = runs.filter(({ records: [job] }) => said.every((name) => job[name] === fields[name]));
  const [first, ...others] = alike;
  if (first === undefined) return fields;
  const [job] = others.reduce((newest, run) => (run.end > newest.end ? run : newest), first).records;
  const sized = { ...fields, slots: job.slots, pe: job.pe };
  const isPlaced = fields.project !== null || fields.queue !== null;
  return isPlaced ? { ...sized, project: job.project, queue: job.queue } : sized;
}

const JOB_WORD = /^(?:\d+(?:\.\d+)?|last|(?:run|demo)-\d+)$/;

async function kindOf(
  words: readonly string[],
  options: AdviseOptions,
  terminal: Terminal,
  sources: JobSources,
): Promise<Kind | null> {
  const [word] = words;
  const isNamed = [options.name, options.owner, options.slots, options.pe].some((value) => value !== undefined);
  const kind =
    word === undefined && isNamed
      ? named(options)
      : word === undefined || (words.length === 1 && JOB_WORD.test(word))
        ? await ofJob(word, terminal, sources)
        : submitted(words);
  return kind && { ...kind, fields: chosen(kind.fields, options) };
}

function nothingKnown({ owner, jobName }: ClassFields): string {
  return `no run of "${jobName}" of ${owner} in the last year shows what it needs; --name NAME [--owner USER] asks about others, "qmemacct owner ${owner} --since 365d" lists them`;
}

/** `advise`; resolves to the exit status. Rejects with CommandError, SettingsError or StoreError. */
async function showAdvice(words: readonly string[], options: AdviseOptions, terminal: Terminal): Promise<number> {
  const format = outputFormat(options);
  const risk = parseRisk('--risk', options.risk);
  const settings = loadSettings(options.config);
  return withStores(options.accounting, settings, terminal, realSources, async (stores) => {
    const running: JobSources['running'] = () =>
      options.accounting === undefined ? realSources.running(settings) : Promise.resolve([]);
    const kind = await kindOf(words, options, terminal, { readers: stores.readers, running });
    if (kind === null) {
      warn(terminal, `advise: ${words[0] ?? 'last'}: no such job is known; name its script, or --name and --owner`);
      return emptyExitStatus(stores);
    }
    const { own, requests } = kind;
    const history = historyOf(stores.readers, terminal.now());
    const isByName = words.length === 0 && own.length === 0;
    const fields = isByName ? await likeNewest(kind.fields, history) : kind.fields;
    const wanted = { risk, own };
    const advice = await history.adviceOf(fields, wanted);
    const report = { fields, advice, risk, requests };
    const isKnown = classRequest(advice) !== null;
    if (!isKnown) warn(terminal, `advise: ${nothingKnown(fields)}`);
    if (format !== 'text') terminal.write(format === 'json' ? renderClassJson(report) : renderClassCsv(advice));
    else if (isKnown) writeLines(terminal, renderClass(report, screenOf(terminal, options, settings)));
    return isKnown ? EXIT.found : emptyExitStatus(stores);
  });
}

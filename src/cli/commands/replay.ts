import { Option, type Command } from 'commander';
import { DAY_MS } from '../../base/units';
import { ManyRuns } from '../../advice/many-runs';
import { Predictor } from '../../advice/predictor';
import { MEMORY_PRIOR } from '../../advice/prior';
import { replay } from '../../advice/replay';
import { readTraceFile } from '../../advice/trace-file';
import { failure, success, type Result } from '../../base/result';
import type { StoredRecord } from '../../record/merge';
import { loadSettings } from '../../record/settings';
import { MEMORY_FIELDS } from '../../report/advice/class-history';
import { pastRuns } from '../../report/advice/past-runs';
import { renderReplay, renderReplayCsv, renderReplayJson } from '../../report/advice/replay';
import { addIntervalOptions } from '../common-options';
import { furtherBack, parseInterval, parseRisk } from '../arguments';
import { commandAction, CommandError, EXIT, type CommandContext, type GlobalOptions } from '../command';
import { outputFormat, screenOf, warn, writeLines } from '../output';
import { countedReaders } from '../records/counted-readers';
import { distinctPages } from '../records/find';
import { ACCOUNTING_OPTION, realSources, emptyExitStatus, withStores, type OpenStores } from '../stores/stores';
import { progressLine, type Terminal } from '../terminal';

interface ReplayOptions extends GlobalOptions {
  readonly since: string;
  readonly until?: string;
  readonly risk: string;
  readonly trace?: string;
  readonly accounting?: string;
}

const OWN_HISTORY = 'accounting DB';

/** `qmemacct replay --since 90d` */
export function register(command: Command, context: CommandContext): void {
  addIntervalOptions(command, '90d')
    .option('--risk <list>', 'risks to state, in percent', '1,2,5')
    .addOption(
      new Option('--trace <file>', 'replay all jobs of a CSV file (or .gz) in place of the accounting DB').conflicts([
        'since',
        'until',
        'accounting',
      ]),
    )
    .option(...ACCOUNTING_OPTION)
    .action(commandAction<ReplayOptions>(context, showReplay));
}

/** Shows what the advice would have done; resolves to the exit status. Rejects with CommandError or StoreError. */
async function showReplay(options: ReplayOptions, terminal: Terminal): Promise<number> {
  const format = outputFormat(options);
  const risks = options.risk.split(',').map((text) => parseRisk('--risk', text));
  const histories = options.trace === undefined ? await storedRuns(options, terminal) : await traced(options.trace);
  if (!histories.ok) return histories.error;
  const answers = new Map(
    [...histories.value].map(
      ([name, runs]) => [name, replay(runs.bySubmission(), risks, new Predictor(MEMORY_PRIOR))] as const,
    ),
  );
  if (format !== 'text') terminal.write(format === 'json' ? renderReplayJson(answers) : renderReplayCsv(answers));
  else writeLines(terminal, renderReplay(answers, screenOf(terminal, options)));
  return EXIT.found;
}

type Histories = ReadonlyMap<string, ManyRuns>;

async function traced(path: string): Promise<Result<Histories, number>> {
  const read = await readTraceFile(path);
  if (!read.ok) throw new CommandError(read.error, EXIT.unavailable);
  return success(read.value);
}

/** Whether its run has no other record; a parallel job's slave tasks end at other times, so may be on other pages. */
const isAlone = ({ record: { pe, pe_task_id } }: StoredRecord): boolean => pe === null && pe_task_id === null;

/** The accounting DB's jobs, read day by day; a failure with the exit status if there are none. */
async function storedRuns(options: ReplayOptions, terminal: Terminal): Promise<Result<Histories, number>> {
  const { since, until } = parseInterval(options.since, options.until, terminal.now());
  const settings = loadSettings(options.config);
  const progress = progressLine(terminal);
  const read = async (stores: OpenStores): Promise<Result<Histories, number>> => {
    const days = Math.ceil((until.getTime() - since.getTime()) / DAY_MS);
    const readers = await countedReaders(stores, { since: since.getTime(), until: until.getTime() });
    const runs = new ManyRuns();
    for (let day = 0; day < days; day++) {
      progress.show('days', day, days);
      const from = since.getTime() + day * DAY_MS;
      const to = Math.min(from + DAY_MS, until.getTime());
      const parallel: StoredRecord[] = [];
      const keep = (records: readonly StoredRecord[]): void => {
        for (const run of pastRuns(records)) runs.add(run);
      };
      const query = { since: from, until: to, fields: MEMORY_FIELDS };
      for await (const records of distinctPages(query, readers)) {
        keep(records.filter(isAlone));
        parallel.push(...records.filter((one) => !isAlone(one)));
      }
      keep(parallel);
    }
    progress.clear();
    if (runs.count > 0) return success(new Map([[OWN_HISTORY, runs]]));
    const hint = furtherBack(since, terminal.now(), '365d');
    warn(terminal, `replay: no job of this time has a known memory need${hint}`);
    return failure(emptyExitStatus(stores));
  };
  try {
    return await withStores(options.accounting, settings, terminal, realSources, read);
  } finally {
    progress.clear();
  }
}

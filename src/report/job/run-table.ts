import { countedByGridEngine } from '../../record/cause';
import { limitOf } from '../../record/request';
import { cpuEfficiency, memoryEfficiency } from '../../record/efficiency';
import { formatCounted, formatPeak } from '../format/bracket';
import { endingLabel } from './ending';
import { runningLabel } from './running';
import { endingTone } from './headline';
import type { JobRun } from './job-run';
import { formatMoment, parseTime } from '../format/local-time';
import type { Screen } from '../screen/screen';
import { renderTable, type Column } from '../screen/table';
import { formatDuration, formatPercent, formatRequested } from '../format/units';

interface RunRow extends JobRun {
  /** Grid Engine's figure (bytes) for all that the row stands for, if no peak was measured; left out: its record's. */
  readonly counted?: number | null;
}

interface RunColumn extends Column {
  readonly cell: (run: RunRow, screen: Screen) => string;
}

const percentCell = (share: number | null): string => (share === null ? '' : formatPercent(share));

/** The columns of a table of runs. */
export const RUN_COLUMNS = {
  task: { head: 'task', align: 'right', cell: ({ record }) => String(record.task_id ?? '') },
  run: { head: 'run', align: 'right', cell: ({ attempt }) => String(attempt) },
  peTask: {
    head: 'pe task',
    cell: ({ record }, screen) => (record.pe_task_id === null ? 'master' : screen.safe(record.pe_task_id)),
  },
  host: {
    head: 'host',
    hosts: true,
    shrinksTo: 8,
    dispensable: 2,
    cell: ({ record }, screen) => screen.safe(record.host),
  },
  started: {
    head: 'started',
    dispensable: 1,
    cell: ({ record }) => {
      const started = parseTime(record.started_at);
      return started === null ? '' : formatMoment(started);
    },
  },
  ran: {
    head: 'ran',
    align: 'right',
    cell: ({ record }) => (record.wallclock_seconds === null ? '' : formatDuration(record.wallclock_seconds)),
  },
  slots: {
    head: 'slots',
    align: 'right',
    dispensable: 3,
    cell: ({ record }) => String(record.host_slots ?? record.slots ?? ''),
  },
  limit: {
    head: 'limit',
    align: 'right',
    dispensable: 4,
    cell: ({ record }) => {
      const limit = limitOf(record);
      return limit === null ? '' : formatRequested(limit);
    },
  },
  peak: {
    head: 'peak',
    align: 'right',
    cell: ({ record, counted = countedByGridEngine(record) }, { glyphs }) => {
      if (record.peak_rss !== null) return formatPeak(record.peak_rss, glyphs);
      return counted === null ? glyphs.none : formatCounted(counted);
    },
  },
  memory: {
    head: 'of limit',
    align: 'right',
    cell: ({ record }) => percentCell(memoryEfficiency(record)),
  },
  cpu: {
    head: 'CPU',
    align: 'right',
    dispensable: 5,
    cell: ({ record }) => percentCell(cpuEfficiency(record)),
  },
  ending: {
    head: 'ended',
    cell: ({ record }, screen) =>
      screen.style[endingTone(record)](
        record.status === 'running' ? runningLabel(record, screen) : endingLabel(record),
      ),
  },
} as const satisfies Readonly<Record<string, RunColumn>>;

type RunColumnName = keyof typeof RUN_COLUMNS;

/** A table of runs with the given columns, as far as there is room. */
export function renderRunTable(
  columns: readonly RunColumnName[],
  runs: readonly RunRow[],
  width: number,
  screen: Screen,
): string[] {
  const onlyMasters = runs.every(({ record }) => record.pe_task_id === null);
  const chosen: readonly RunColumn[] = columns
    .filter((name) => name !== 'peTask' || !onlyMasters)
    .map((name) => RUN_COLUMNS[name]);
  const rows = runs.map((run) => chosen.map((column) => column.cell(run, screen)));
  return renderTable(chosen, rows, screen, width);
}

import type { JobRecord } from '../../../record/record';
import { limitOf } from '../../../record/request';
import { MEMORY_SERIES, seriesValues } from '../../../record/series-values';
import { formatRequested, plural } from '../../../report/format/units';
import type { JobWhole } from '../../../report/job/job-whole';
import { seriesOfHosts } from '../../../report/job/running';
import { curveWords } from '../../../report/screen/memory-chart';
import type { Limit } from '../charts/axes';
import { chartKey } from '../charts/bar';
import { curveChart } from '../charts/curve';
import { chooseSeries, seriesTitle } from '../charts/series';
import { html, named, type Html } from '../html';
import { choices, section } from '../layout';

/** Which series of which host is charted, and the address of another choice. */
export interface ChartChoice {
  readonly series: string | undefined;
  readonly host: string | undefined;
  readonly linkOf: (changes: { readonly series?: string; readonly host?: string | undefined }) => string;
}

function requestedOf(record: JobRecord, series: string): Limit | null {
  const limit = limitOf(record);
  const slots = record.host_slots ?? record.slots;
  if (series === MEMORY_SERIES) return limit === null ? null : { at: limit, text: `limit ${formatRequested(limit)}` };
  return series === 'cpu_cores' && slots !== null ? { at: slots, text: plural(slots, 'slot') } : null;
}

/** The chosen series over time with what was requested: of the job, or of one host of a parallel job. */
export function curvePart(whole: JobWhole, { series: wanted, host, linkOf }: ChartChoice): Html | null {
  const { sum, total } = whole;
  const here = sum && seriesOfHosts(whole).find(({ record }) => record.host === host);
  const { record, series } = here ?? { record: total, series: total.series };
  if (series === null) return null;
  const { shown, items } = chooseSeries([series], wanted, (name) => linkOf({ series: name }));
  const isMemory = shown === MEMORY_SERIES;
  const peak = isMemory && sum === null ? record.peak_rss : null;
  const drawn = curveChart({
    series: shown,
    values: seriesValues(series, shown),
    stepSeconds: series.step_seconds,
    limit: requestedOf(record, shown),
    peak,
  });
  if (drawn === null && items.length === 0) return null;
  const title = seriesTitle(shown);
  return section(
    here == null ? `${title} over time` : html`${title} over time on ${named(record.host)}`,
    here == null ? null : html`<p><a href="${linkOf({ host: undefined })}">All hosts together</a></p>`,
    choices(items),
    drawn ?? html`<p>There are too few samples to draw.</p>`,
    drawn && peak
      ? chartKey([
          { fill: 'used', text: title },
          { fill: 'band', text: 'peak, lower to upper bound' },
        ])
      : null,
    isMemory && here == null ? html`<p class="faint">${curveWords(record, series)}.</p>` : null,
  );
}

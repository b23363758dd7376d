import { DAY_MS } from '../../../base/units';
import { jobTaskName } from '../../../record/job-name';
import { formatMinute } from '../../../report/format/local-time';
import { formatBytes, formatCount, formatRequested } from '../../../report/format/units';
import type { ClassRun } from '../../accounting/class-shape';
import { MEMORY_SERIES } from '../../../record/series-values';
import { html, type Html } from '../html';
import { amounts, stretched } from './axes';
import { chartKey } from './bar';
import { BOTTOM, HEIGHT, scaleFor, WIDTH, type Scale } from './scale';

/** Dates below the chart. */
const LABELS = 5;
/** Share of the width left free at each edge, where the dot of a run would be cut off. */
const MARGIN = 0.008;

const most = (values: readonly number[]): number => values.reduce((a, b) => Math.max(a, b), 0);

const endsOf = (runs: readonly ClassRun[]): readonly [from: number, to: number] => [
  Date.parse(runs[0]?.ended_at ?? ''),
  Date.parse(runs.at(-1)?.ended_at ?? ''),
];

/** Where a moment stands, 0 to 1 of the width. */
function placer(runs: readonly ClassRun[]): (time: number) => number {
  const [from, to] = endsOf(runs);
  return (time) => (to > from ? MARGIN + (1 - 2 * MARGIN) * ((time - from) / (to - from)) : 0.5);
}

const percent = (share: number): string => `${Number((share * 100).toFixed(2))}%`;

function dates(runs: readonly ClassRun[]): Html {
  const [from, to] = endsOf(runs);
  if (!(to > from))
    return html`<text x="50%" y="${HEIGHT - 12}" text-anchor="middle">${formatMinute(new Date(from))}</text>`;
  const days = to - from > 3 * DAY_MS;
  const items = Array.from({ length: LABELS }, (_, index) => {
    const text = formatMinute(new Date(from + ((to - from) * index) / LABELS));
    return html`<text x="${percent(index / LABELS)}" y="${HEIGHT - 12}"
      >${days ? text.slice(0, 10) : text.slice(5)}</text
    >`;
  });
  return html`${items}`;
}

/** A line of what was requested, from run to run, with gaps at runs without a request. */
function requestedLine(runs: readonly ClassRun[], scale: Scale, x: (time: number) => number): Html {
  const steps = runs.map(({ ended_at: ended, requested_bytes: bytes }, index) => {
    if (bytes === null) return '';
    const at = Math.round(x(Date.parse(ended)) * WIDTH * 10) / 10;
    const before = runs[index - 1]?.requested_bytes ?? null;
    return before === null ? `M${at} ${scale.y(bytes)}` : `H${at}V${scale.y(bytes)}`;
  });
  return stretched(html`<path class="asked" d="${steps.join('')}" vector-effect="non-scaling-stroke"></path>`);
}

function advisedLine(bytes: number, text: string, scale: Scale): Html {
  const y = scale.y(bytes);
  return html`<line class="advice" x1="0" x2="100%" y1="${y}" y2="${y}"></line>
    <text class="advice-text" x="100%" y="${y - 5}" text-anchor="end">advised ${text}</text>`;
}

/**
 * What each run of a kind of job needed, what was requested, and what is advised (null: nothing); `runs` in the order in
 * which they ended. null: there is nothing to draw.
 */
export function runsChart(
  runs: readonly ClassRun[],
  advised: { readonly bytes: number; readonly text: string } | null,
): Html | null {
  const needed = most(runs.map((run) => run.needed_bytes));
  if (needed <= 0) return null;
  const requested = most(runs.map((run) => run.requested_bytes ?? 0));
  const scale = scaleFor(Math.max(needed, advised?.bytes ?? 0), requested > 0 ? requested : null);
  const x = placer(runs);
  const points = runs.map((run) => {
    const asked = run.requested_bytes === null ? 'no request' : `requested ${formatRequested(run.requested_bytes)}`;
    const words = `${jobTaskName(run)}: ${run.stopped ? 'stopped at its limit, ' : ''}${formatBytes(run.needed_bytes, 'up')}, ${asked}`;
    const fill = run.stopped ? 'fill-bad' : 'used';
    return html`<circle
      class="${fill}"
      cx="${percent(x(Date.parse(run.ended_at)))}"
      cy="${scale.y(run.needed_bytes)}"
      r="${run.stopped ? 5 : 3.5}"
    >
      <title>${words}</title>
    </circle>`;
  });
  const stopped = runs.filter((run) => run.stopped).length;
  const asked = requested > scale.top ? `requested, up to ${formatRequested(requested)}` : 'requested';
  const words = `Peaks of ${formatCount(runs.length)} runs: at most ${formatBytes(needed, 'up')}${
    advised === null ? '' : `; advised ${advised.text}`
  }`;
  return html`<svg class="plot" width="100%" height="${HEIGHT}" role="img" aria-label="${words}">
      ${amounts(scale, MEMORY_SERIES)}
      <line class="axis" x1="0" x2="100%" y1="${BOTTOM}" y2="${BOTTOM}"></line>
      ${dates(runs)} ${requestedLine(runs, scale, x)}
      ${advised === null ? null : advisedLine(advised.bytes, advised.text, scale)} ${points}
    </svg>
    ${chartKey([
      { fill: 'used', text: 'peak of a run' },
      ...(stopped === 0 ? [] : [{ fill: 'fill-bad', text: 'stopped at its limit' }]),
      ...(requested > 0 ? [{ fill: 'fill-asked', text: asked }] : []),
    ])}`;
}

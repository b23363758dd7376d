import { elapsed } from '../../../report/screen/chart';
import { html, type Html } from '../html';
import { amountTicks, BOTTOM, HEIGHT, timeTicks, WIDTH, type Scale } from './scale';
import { unitOfSeries } from './series-units';

/** Labels and lines for the amounts of a series, at the left. */
export function amounts(scale: Scale, series: string): Html {
  const { base, tick } = unitOfSeries(series);
  const lines = amountTicks(scale.top, base).map((amount) => {
    const y = scale.y(amount);
    return html`<line class="axis" x1="0" x2="100%" y1="${y}" y2="${y}"></line>
      <text x="-8" y="${y + 4}" text-anchor="end">${tick(amount)}</text>`;
  });
  return html`${lines}`;
}

/** Amounts at the left, time since the start below. */
function axes({ scale, seconds, series }: TimeChart): Html {
  const times = timeTicks(0, seconds).map((at) => {
    const x = `${Number(((at / seconds) * 100).toFixed(2))}%`;
    return html`<line class="axis" x1="${x}" x2="${x}" y1="${BOTTOM}" y2="${BOTTOM + 5}"></line>
      <text x="${x}" y="${HEIGHT - 12}">${elapsed(at)}</text>`;
  });
  return html`${amounts(scale, series)}<line class="axis" x1="0" x2="100%" y1="${BOTTOM}" y2="${BOTTOM}"></line
    ><g class="times">${times}</g>`;
}

/** The limit as a line; at the upper edge if the limit is above the chart. */
function limitLine({ at, text }: Limit, scale: Scale): Html {
  const above = at > scale.top;
  const y = above ? 4 : scale.y(at);
  const words = above ? `${text}, farther up` : text;
  return html`<line class="limit" x1="0" x2="100%" y1="${y}" y2="${y}"></line>
    <text class="limit-text" x="100%" y="${above ? y + 14 : y - 5}" text-anchor="end">${words}</text>`;
}

/** What was requested, as a line. */
export interface Limit {
  readonly at: number;
  readonly text: string;
}

interface TimeChart {
  /** What the chart shows, for screen readers. */
  readonly words: string;
  readonly seconds: number;
  readonly scale: Scale;
  readonly limit: Limit | null;
  /** Name of the series that is drawn. */
  readonly series: string;
}

/** Shapes in the units of a curve, stretched to the width of the page. */
export function stretched(shapes: Html): Html {
  return html`<svg width="100%" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none">
    ${shapes}
  </svg>`;
}

/**
 * A chart over time with axes and limit, which the pages' script can read and zoom; `behind`: drawn behind the axes.
 */
export function timeChart(chart: TimeChart, curves: Html, behind: Html | null = null): Html {
  const { words, seconds, scale, limit, series } = chart;
  return html`<svg
    class="plot"
    width="100%"
    height="${HEIGHT}"
    role="img"
    aria-label="${words}"
    data-seconds="${seconds}"
    data-top="${scale.top}"
    data-series="${series}"
  >
    ${behind} ${axes(chart)} ${stretched(curves)} ${limit === null ? null : limitLine(limit, scale)}
  </svg>`;
}

import { keepFresh } from './refresh';
import { TimeChart } from './time-chart';

/** What pages can do beyond showing: each is whole without it. */

function enliven(main: Element): void {
  for (const chart of main.querySelectorAll<SVGSVGElement>('svg[data-seconds]')) new TimeChart(chart);
}

enliven(document.body);
keepFresh(enliven);

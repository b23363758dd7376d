import { keepFresh } from './refresh';
import { TimeChart } from './time-chart';

/** The script of the pages; every page is complete without it. */

function enliven(main: Element): void {
  for (const chart of main.querySelectorAll<SVGSVGElement>('svg[data-seconds]')) new TimeChart(chart);
}

enliven(document.body);
keepFresh(enliven);

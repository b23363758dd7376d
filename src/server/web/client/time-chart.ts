import { formatDuration } from '../../../report/format/units';
import { elapsed } from '../../../report/screen/chart';
import { amountAt, BOTTOM, HEIGHT, timeTicks, WIDTH } from '../charts/scale';
import { unitOfSeries } from '../charts/series-units';
import { heightAt, readPath } from './path';

const SVG = 'http://www.w3.org/2000/svg';
/** Steps of the slider that sets the time at which the chart is read. */
const STEPS = 1000;
/** A drag over a smaller share of the shown time is a click. */
const LEAST_DRAG = 0.02;
/** The smallest share of the whole time that can be zoomed to. */
const CLOSEST = 0.01;

function create(parent: Element, name: string, attributes: Readonly<Record<string, string | number>>): Element {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  parent.append(element);
  return element;
}

function button(text: string, pressed: () => void): HTMLButtonElement {
  const element = document.createElement('button');
  element.type = 'button';
  element.textContent = text;
  element.addEventListener('click', pressed);
  return element;
}

/** Lets a chart over time be read at any time, and zoomed: by pointer, or by a slider and buttons below it. */
export class TimeChart {
  private readonly seconds: number;
  private readonly top: number;
  private readonly series: string;
  private readonly curves: readonly { readonly name: string; readonly points: ReturnType<typeof readPath> }[];
  private readonly cursor: Element;
  private readonly slider = document.createElement('input');
  private readonly reading = document.createElement('output');
  /** What is shown, as shares of the whole time. */
  private from = 0;
  private to = 1;
  private at = 0;
  private pressedAt: number | null = null;

  constructor(private readonly svg: SVGSVGElement) {
    this.seconds = Number(svg.dataset.seconds);
    this.top = Number(svg.dataset.top);
    this.series = svg.dataset.series ?? '';
    this.curves = [...svg.querySelectorAll('path.curve')].map((path) => ({
      name: path.getAttribute('data-name') ?? '',
      points: readPath(path.getAttribute('d') ?? ''),
    }));
    this.cursor = create(svg, 'line', { class: 'cursor', y1: 0, y2: BOTTOM, visibility: 'hidden' });
    this.addControls();
    this.followPointer();
  }

  private addControls(): void {
    const { slider, reading } = this;
    slider.type = 'range';
    slider.max = String(STEPS);
    slider.value = '0';
    slider.setAttribute('aria-label', 'Time at which the chart is read');
    slider.addEventListener('input', () => this.read(this.shareOf(Number(slider.value) / STEPS)));
    reading.textContent = 'Point at the chart to read it, drag to zoom.';
    const bar = document.createElement('div');
    bar.className = 'reading only-screen';
    bar.append(
      slider,
      reading,
      button('Zoom in', () => this.zoom(0.5)),
      button('Zoom out', () => this.zoom(2)),
    );
    this.svg.after(bar);
  }

  private followPointer(): void {
    const { svg } = this;
    svg.addEventListener('pointerdown', (event) => (this.pressedAt = this.pointed(event)));
    svg.addEventListener('pointermove', (event) => this.read(this.pointed(event)));
    svg.addEventListener('pointercancel', () => (this.pressedAt = null));
    svg.addEventListener('pointerup', (event) => {
      const [begin, end] = [this.pressedAt, this.pointed(event)];
      this.pressedAt = null;
      if (begin !== null && Math.abs(end - begin) > LEAST_DRAG * (this.to - this.from)) this.show(begin, end);
    });
    svg.addEventListener('dblclick', () => this.show(0, 1));
  }

  /** Converts a share of the width to a share of the whole time. */
  private shareOf(width: number): number {
    return this.from + Math.min(1, Math.max(0, width)) * (this.to - this.from);
  }

  private pointed({ clientX }: MouseEvent): number {
    const { left, width } = this.svg.getBoundingClientRect();
    return this.shareOf((clientX - left) / width);
  }

  /** Shows the values of the curves at this share of the whole time. */
  private read(share: number): void {
    this.at = share;
    const place = (share - this.from) / (this.to - this.from);
    const x = `${(place * 100).toFixed(2)}%`;
    for (const end of ['x1', 'x2']) this.cursor.setAttribute(end, x);
    this.cursor.setAttribute('visibility', 'visible');
    this.slider.value = String(Math.round(place * STEPS));
    const values = this.curves.flatMap(({ name, points }) => {
      const y = heightAt(points, share * WIDTH);
      return y === null ? [] : [`${name} ${unitOfSeries(this.series).text(Math.max(0, amountAt(y, this.top)))}`.trim()];
    });
    const time = share === 0 ? 'start' : formatDuration(share * this.seconds);
    const text = `${time}: ${values.join(', ')}`;
    this.reading.textContent = text;
    this.slider.setAttribute('aria-valuetext', text);
  }

  /** Shows `times` as much time, around the time that is read. */
  private zoom(times: number): void {
    const half = ((this.to - this.from) * times) / 2;
    const middle = Math.min(1 - Math.min(0.5, half), Math.max(Math.min(0.5, half), this.at));
    this.show(middle - half, middle + half);
  }

  private show(one: number, other: number): void {
    const from = Math.max(0, Math.min(one, other));
    const to = Math.min(1, Math.max(one, other));
    if (to - from < CLOSEST) return;
    [this.from, this.to] = [from, to];
    for (const curves of this.svg.querySelectorAll('svg'))
      curves.setAttribute('viewBox', `${from * WIDTH} 0 ${(to - from) * WIDTH} ${HEIGHT}`);
    this.svg.toggleAttribute('data-zoomed', from > 0 || to < 1);
    this.drawTimes();
    this.read(Math.min(to, Math.max(from, this.at)));
  }

  private drawTimes(): void {
    const times = this.svg.querySelector('.times');
    if (times === null) return;
    times.replaceChildren();
    const [begin, end] = [this.from * this.seconds, this.to * this.seconds];
    for (const at of timeTicks(begin, end)) {
      const x = `${(((at - begin) / (end - begin)) * 100).toFixed(2)}%`;
      create(times, 'line', { class: 'axis', x1: x, x2: x, y1: BOTTOM, y2: BOTTOM + 5 });
      create(times, 'text', { x, y: HEIGHT - 12 }).textContent = end - begin < 600 ? formatDuration(at) : elapsed(at);
    }
  }
}

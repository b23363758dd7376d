import { html, type Html } from './html';

/** A text field of a form. */
export function field(name: string, label: string, value: string | number | undefined): Html {
  return html`<label>${label}<input name="${name}" value="${value ?? ''}" /></label>`;
}

/** One item of a select list; `chosen`: the value that is selected. */
export function option(value: string, text: string, chosen: string): Html {
  return value === chosen
    ? html`<option value="${value}" selected>${text}</option>`
    : html`<option value="${value}">${text}</option>`;
}

/** A hidden field: a parameter of the page that its form passes on. */
export function hidden(name: string, value: string | undefined): Html | null {
  return value === undefined ? null : html`<input type="hidden" name="${name}" value="${value}" />`;
}

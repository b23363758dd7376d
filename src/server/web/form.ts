import { html, type Html } from './html';

/** A line of text in a form. */
export function field(name: string, label: string, value: string | number | undefined): Html {
  return html`<label>${label}<input name="${name}" value="${value ?? ''}" /></label>`;
}

/** One of a list to choose from. */
export function option(value: string, text: string, chosen: string): Html {
  return value === chosen
    ? html`<option value="${value}" selected>${text}</option>`
    : html`<option value="${value}">${text}</option>`;
}

/** What a form keeps of the page that it stands on. */
export function hidden(name: string, value: string | undefined): Html | null {
  return value === undefined ? null : html`<input type="hidden" name="${name}" value="${value}" />`;
}

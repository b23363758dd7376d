import { html, type Html } from './html';

export function field(name: string, label: string, value: string | number | undefined): Html {
  return html`<label>${label}<input name="${name}" value="${value ?? ''}" /></label>`;
}

type Item = readonly [value: string, text: string];

/** A list to select one value from. */
export function select(name: string, label: string, items: readonly Item[], chosen: string): Html {
  const options = items.map(([value, text]) =>
    value === chosen
      ? html`<option value="${value}" selected>${text}</option>`
      : html`<option value="${value}">${text}</option>`,
  );
  return html`<label
    >${label}<select name="${name}">
      ${options}
    </select></label
  >`;
}

/** A hidden field: a parameter of the page that its form passes on. */
export function hidden(name: string, value: string | undefined): Html | null {
  return value === undefined ? null : html`<input type="hidden" name="${name}" value="${value}" />`;
}

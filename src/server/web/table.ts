import type { Column } from '../../report/screen/table';
import { html, type Child, type Html } from './html';

export interface WebColumn extends Pick<Column, 'head' | 'align'> {
  /** Shown instead of `head`, such as a link that sorts by this column. */
  readonly title?: Html;
  readonly sorted?: boolean;
  /** Its cells are bars. */
  readonly bar?: boolean;
}

/** Cells of up to this many characters stay on one line. */
const SHORT = 24;

const isEmpty = (cell: Child | undefined): boolean => cell === undefined || cell === null || cell === '';

function headCell({ head, title, align, sorted }: WebColumn): Html {
  const content = title ?? head;
  const name = align === 'right' ? 'right' : '';
  return sorted === true
    ? html`<th scope="col" class="${name}" aria-sort="descending">${content}</th>`
    : html`<th scope="col" class="${name}">${content}</th>`;
}

function classOf({ align, bar }: WebColumn, cell: Child): string {
  if (bar === true) return 'bar';
  if (align === 'right') return 'right';
  return typeof cell === 'string' && cell.length <= SHORT ? 'short' : '';
}

/**
 * A table under a caption; `unseen`: the caption is not shown, since a heading says the same. Columns without any
 * content are left out. A table that is too wide scrolls sideways; its caption does not.
 */
export function table(
  caption: string,
  columns: readonly WebColumn[],
  rows: readonly (readonly Child[])[],
  unseen = false,
): Html {
  const shown = columns.flatMap((column, index) =>
    rows.some((row) => !isEmpty(row[index])) ? [{ column, index }] : [],
  );
  const heads = shown.map(({ column }) => (column.head === '' ? html`<td></td>` : headCell(column)));
  const body = rows.map((row) => {
    const cells = shown.map(({ column, index }) => {
      const cell = row[index] ?? null;
      return html`<td class="${classOf(column, cell)}">${cell}</td>`;
    });
    return html`<tr>
      ${cells}
    </tr>`;
  });
  const withHead = shown.some(({ column }) => column.head !== '');
  return html`${unseen ? null : html`<p class="caption">${caption}</p>`}
    <div class="scroll" tabindex="0" role="region" aria-label="${caption}">
      <table aria-label="${caption}">
        ${
          withHead
            ? html`<thead>
                <tr>
                  ${heads}
                </tr>
              </thead>`
            : null
        }
        <tbody>
          ${body}
        </tbody>
      </table>
    </div>`;
}

/** Names with their values. */
export function pairs(items: readonly (readonly [name: string, value: Child])[]): Html | null {
  if (items.length === 0) return null;
  const rows = items.map(
    ([name, value]) =>
      html`<dt>${name}</dt>
        <dd>${value}</dd>`,
  );
  return html`<dl class="pairs">${rows}</dl>`;
}

/** Figures that stand beside each other, each under its name. */
export function tiles(items: readonly (readonly [name: string, value: Child])[]): Html {
  const shown = items.map(
    ([name, value]) =>
      html`<div>
        <dt>${name}</dt>
        <dd>${value}</dd>
      </div>`,
  );
  return html`<dl class="tiles">${shown}</dl>`;
}

/** Shown in place of an empty list: nothing matches, or this page is past the last one. */
export const noRows = (page: number, none: string): Html =>
  html`<p>${page === 1 ? none : `The list has no page ${page} any more.`}</p>`;

/** Links to the pages before and after this one of a list. */
export function paging(page: number, hasMore: boolean, linkOf: (page: number) => string): Html | null {
  if (page === 1 && !hasMore) return null;
  return html`<nav class="paging" aria-label="Pages of the list">
    ${page > 1 ? html`<a href="${linkOf(page - 1)}" rel="prev">previous</a>` : null}
    <span>page ${page}</span>
    ${hasMore ? html`<a href="${linkOf(page + 1)}" rel="next">next</a>` : null}
  </nav>`;
}

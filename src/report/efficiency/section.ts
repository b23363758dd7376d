import type { Column as ScreenColumn } from '../screen/table';
import type { Tone } from '../screen/screen';

/** The report's parts as both renderers print them: lines for a screen, and HTML for a mail or a browser. */
export interface Section {
  readonly title: string;
  /** Its table needs the whole width of a screen: nothing is indented. */
  readonly flush?: boolean;
  /** If all parts are empty, the section is left out. */
  readonly parts: readonly Part[];
}

export type Part =
  | { readonly kind: 'paragraph' | 'note'; readonly text: Text | null }
  | { readonly kind: 'hosts'; readonly hosts: readonly HostLine[]; readonly alert: boolean }
  | { readonly kind: 'counts'; readonly counts: readonly Count[] }
  /** Drawn only in HTML: the text beside it says the same. */
  | { readonly kind: 'bar'; readonly share: number }
  | { readonly kind: 'table'; readonly columns: readonly Column[]; readonly groups: readonly Group[] };

/**
 * Our own text, in UTF-8 (which a screen may have to replace), or text that users chose, which each renderer escapes.
 */
export type Text = Piece | readonly Piece[];

export type Words = string | { readonly name: string };

export type Piece =
  | Words
  /** A sentence of ours that contains text users chose. */
  | { readonly sentence: string }
  | { readonly code: string }
  | { readonly tone: Tone; readonly says: string }
  /** Only in HTML: a bar, and a second line in small letters. */
  | { readonly gauge: number | null }
  | { readonly small: Text };

export const isList = (text: Text): text is readonly Piece[] => Array.isArray(text);

export interface HostLine {
  readonly host: string;
  readonly tone: Tone;
  readonly says: Text;
}

export interface Count {
  readonly count: string;
  readonly says: string;
}

export type Medium = 'text' | 'html';

export interface Column extends ScreenColumn {
  /** Left out of HTML that is shown on a telephone, which has less room than the narrowest screen. */
  readonly wide?: boolean;
  /** Only for HTML. */
  readonly width?: string;
}

/** Rows of a table, under a head of their own or none. */
export interface Group {
  readonly head?: {
    readonly name: string;
    readonly says: string;
    readonly share: number;
    readonly note: string | null;
  };
  readonly rows: readonly Row[];
}

export interface Row {
  readonly cells: readonly Text[];
  /** Text under the row that is too long for a cell; where it stands apart from the row, `of` names the row. */
  readonly remark?: { readonly of: string; readonly says: Text };
}

import type { Cell } from './cell-codec';

/** A column of thousands of records in little memory: a cell that all have is kept once, numbers are kept unboxed. */
export class TaskColumn {
  private filled = 0;
  /** The cell that all rows have so far, while `numbers` and `cells` are null. */
  private same: Cell = null;
  /** NaN: null. */
  private numbers: Float64Array | null = null;
  private cells: Cell[] | null = null;

  /** `rows`: how many cells it will have. */
  constructor(readonly rows: number) {}

  /** A column of these cells; a single cell stands for all rows. */
  static of(cells: readonly Cell[], rows = cells.length): TaskColumn {
    const isOfAll = cells.length === 1;
    const column = new TaskColumn(isOfAll ? rows : cells.length);
    column.add(cells);
    if (isOfAll) column.addSame(rows - 1);
    return column;
  }

  /** Whether all cells so far are the same. */
  get isSame(): boolean {
    return this.numbers === null && this.cells === null;
  }

  at(row: number): Cell {
    if (this.cells !== null) return this.cells[row] ?? null;
    if (this.numbers === null) return this.same;
    const number = this.numbers[row] ?? NaN;
    return Number.isNaN(number) ? null : number;
  }

  /** Adds rows with the cell that all have so far. */
  addSame(count: number): void {
    this.filled += count;
  }

  add(cells: readonly Cell[]): void {
    if (this.filled === 0) this.same = cells[0] ?? null;
    if (!this.isSame || cells.some((cell) => cell !== this.same)) {
      if (this.cells === null && cells.some((cell) => typeof cell === 'string')) this.keepCells();
      else if (this.isSame) this.keepNumbers();
      if (this.cells !== null) for (const cell of cells) this.cells.push(cell);
      else if (this.numbers !== null) {
        let at = this.filled;
        for (const cell of cells) this.numbers[at++] = typeof cell === 'number' ? cell : NaN;
      }
    }
    this.filled += cells.length;
  }

  /** Each cell once. */
  distinct(): ReadonlySet<Cell> {
    if (this.isSame) return new Set([this.same]);
    const found = new Set<Cell>();
    for (let row = 0; row < this.filled; row++) found.add(this.at(row));
    return found;
  }

  toCells(): readonly Cell[] {
    return Array.from({ length: this.filled }, (_, row) => this.at(row));
  }

  private keepNumbers(): void {
    const { same } = this;
    if (typeof same === 'string') this.keepCells();
    else this.numbers = new Float64Array(this.rows).fill(same ?? NaN, 0, this.filled);
  }

  private keepCells(): void {
    this.cells = [...this.toCells()];
    this.numbers = null;
  }
}

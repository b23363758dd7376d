import type { Dictionary, WordCodec } from './cell-codec';
import { DamagedRecord } from './store-error';

/** A dictionary of its own, for data that carries its strings along, instead of a store's. */
export class OwnNumbers implements WordCodec {
  private readonly ids = new Map<string, number>();
  private readonly known: string[];

  /** `texts`: strings that have numbers already, their indexes. */
  constructor(texts: readonly string[] = []) {
    this.known = [...texts];
  }

  get texts(): readonly string[] {
    return this.known;
  }

  intern(_dictionary: Dictionary, text: string): number {
    const known = this.ids.get(text);
    if (known !== undefined) return known;
    this.ids.set(text, this.known.length);
    return this.known.push(text) - 1;
  }

  text(_dictionary: Dictionary, id: number): string {
    const text = this.known[id];
    if (text === undefined) throw new DamagedRecord(`names string ${id}, which is missing`);
    return text;
  }
}

import { MIB } from '../../base/units';
import type { Requester } from '../accounting/accounting-thread';
import type { Body } from './body';
import type { RenderTurns } from './render-turns';

/** Far above what a site's routes and kinds of callers need; beyond these limits the oldest bodies are dropped. */
const MOST_BYTES = 96 * MIB;
const MOST_ENTRIES = 1000;

/** Keeps the serialised answers of the newest state, so that each is made once for any number of callers. */
export class AnswerCache {
  readonly #bodies = new Map<string, Body>();
  #state: object | null = null;
  #bytes = 0;

  constructor(private readonly turns: RenderTurns) {}

  /**
   * The body for this key and this state; a new `state` object drops all bodies. A kept body is returned at once,
   * others are made in turn. Rejects as RenderTurns does.
   */
  async get(state: object, key: string, requester: Requester, make: () => Body): Promise<Body> {
    if (state !== this.#state) {
      this.#state = state;
      this.#bodies.clear();
      this.#bytes = 0;
    }
    return this.#bodies.get(key) ?? this.turns.take(requester, () => this.#made(state, key, make));
  }

  #made(state: object, key: string, make: () => Body): Body {
    // The next state may have come while this one waited for its turn.
    if (state !== this.#state) return make();
    const known = this.#bodies.get(key);
    if (known !== undefined) return known;
    const body = make();
    this.#bodies.set(key, body);
    this.#bytes += body.bytes.length;
    for (const [oldKey, old] of this.#bodies) {
      if (this.#bytes <= MOST_BYTES && this.#bodies.size <= MOST_ENTRIES) break;
      this.#bodies.delete(oldKey);
      this.#bytes -= old.bytes.length;
    }
    return body;
  }
}

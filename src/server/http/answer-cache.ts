import { Latest } from '../../base/latest';
import { MIB } from '../../base/units';
import type { Requester } from '../accounting/accounting-thread';
import type { Body } from './body';
import type { RenderTurns } from './render-turns';

/** Far above what a site's routes and kinds of callers need. */
const MOST_BYTES = 96 * MIB;
const MOST_ENTRIES = 1000;

const newBodies = (): Latest<string, Body> =>
  new Latest(MOST_BYTES, ({ bytes }) => Math.max(bytes.length, MOST_BYTES / MOST_ENTRIES));

/** Keeps the serialised answers of the newest state, so that each is made once for any number of callers. */
export class AnswerCache {
  private bodies = newBodies();
  private state: object | null = null;

  constructor(private readonly turns: RenderTurns) {}

  /**
   * The body for this key and this state; a new `state` object drops all bodies. A kept body is returned at once,
   * others are made in turn. Rejects as RenderTurns does.
   */
  async get(state: object, key: string, requester: Requester, make: () => Body | Promise<Body>): Promise<Body> {
    if (state !== this.state) {
      this.state = state;
      this.bodies = newBodies();
    }
    // The next state may come while this one waits for its turn.
    const bodies = this.bodies;
    return (
      bodies.get(key) ??
      this.turns.take(requester, async () => {
        const body = bodies.get(key) ?? (await make());
        bodies.set(key, body);
        return body;
      })
    );
  }
}

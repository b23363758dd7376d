import { join } from 'node:path';
import { monotonicMs } from '../../base/monotonic';
import { reasonOf } from '../../base/user-error';
import { warn } from '../../base/log';
import type { Settings } from '../../record/settings';
import { destinationNow, type Destination } from '../delivery/destination';
import { Heartbeat } from '../delivery/heartbeat';
import { deliverOutbox } from '../delivery/outbox-feeder';
import type { NodeStore } from '../node-store/node-store';
import { tidyNode, type SharedStore } from '../node-store/storage';
import { shareStore } from './shared-store';

const TIDY_EVERY_MS = 60_000;
const FIRST_TIDY_MS = 3000;
/** Starting a deliverer costs as much as delivering many records: records wait, so that one takes several. */
const DELIVER_AFTER_MS = 2000;
const DELIVER_EVERY_MS = 15_000;
const DELIVERY_PATIENCE_S = 30;

/** node.db of the service, and its work for the whole node: delivery, heartbeats, finishing what others left. */
export class NodeUpkeep {
  readonly store: SharedStore;
  readonly #heartbeat: Heartbeat;
  #delivering = false;
  #deliveredMs = -Infinity;
  #deliveryTimer: NodeJS.Timeout | null = null;

  constructor(
    private readonly settings: Settings,
    private readonly settingsPath: string,
  ) {
    this.#heartbeat = new Heartbeat(settings, this.#destination);
    this.store = shareStore(settings.state_dir, {
      saved: (store) => void this.#heartbeat.beat(store),
      committed: () => this.deliverSoon(),
    });
  }

  begin(): void {
    setTimeout(() => void this.tidy(), FIRST_TIDY_MS);
  }

  readonly #destination = (): Destination => destinationNow(this.settingsPath, this.settings);

  private async withStore<T>(use: (store: NodeStore) => Promise<T>): Promise<T> {
    const store = this.store.open();
    try {
      return await use(store);
    } catch (error) {
      this.store.failed(store);
      throw error;
    }
  }

  private async tidy(): Promise<void> {
    try {
      await this.withStore((store) => tidyNode(store, this.settings, DELIVERY_PATIENCE_S, this.#destination));
    } catch (error) {
      warn(`${join(this.settings.state_dir, 'node.db')}: ${reasonOf(error)}`);
    }
    setTimeout(() => void this.tidy(), TIDY_EVERY_MS);
  }

  private deliverSoon(): void {
    if (this.#delivering || this.#deliveryTimer !== null) return;
    const wait = Math.max(DELIVER_AFTER_MS, this.#deliveredMs + DELIVER_EVERY_MS - monotonicMs());
    this.#deliveryTimer = setTimeout(() => void this.deliver(), wait);
  }

  private async deliver(): Promise<void> {
    this.#deliveryTimer = null;
    this.#delivering = true;
    this.#deliveredMs = monotonicMs();
    let left = 0;
    try {
      ({ left } = await this.withStore((store) =>
        deliverOutbox(store, this.settings, DELIVERY_PATIENCE_S, this.#destination),
      ));
    } catch (error) {
      warn(`delivery: ${reasonOf(error)}`);
    }
    this.#delivering = false;
    if (left > 0) this.deliverSoon();
  }
}

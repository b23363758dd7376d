import { join } from 'node:path';
import { monotonicMs } from '../../base/monotonic';
import { reasonOf } from '../../base/user-error';
import { warn } from '../../base/log';
import type { Settings } from '../../record/settings';
import { destinationNow, type Destination } from '../delivery/destination';
import { Heartbeat } from '../delivery/heartbeat';
import { deliverOutbox } from '../delivery/outbox-feeder';
import { KeptStore } from '../node-store/kept-store';
import type { NodeStore } from '../node-store/node-store';
import { tidyNode, type Upkeep } from '../node-store/storage';

const TIDY_EVERY_MS = 60_000;
const FIRST_TIDY_MS = 3000;
/** Starting a deliverer costs as much as delivering many records: records wait, so that one takes several. */
const DELIVER_AFTER_MS = 2000;
const DELIVER_EVERY_MS = 15_000;
const DELIVERY_PATIENCE_S = 30;
/** Waiting for other processes' locks holds up all jobs, and an epilog waits 4 s at most. */
export const BUSY_MS = 700;
/** No job is to wait for the next failure of a store that has failed. */
export const REST_MS = 5000;

/** node.db of the service, and its work for the whole node: delivery, heartbeats, finishing what others left. */
export class NodeUpkeep implements Upkeep {
  readonly store: KeptStore;
  readonly heartbeat: Heartbeat;
  private delivering = false;
  private deliveredMs = -Infinity;
  private deliveryTimer: NodeJS.Timeout | null = null;

  constructor(
    private readonly settings: Settings,
    private readonly settingsPath: string,
  ) {
    this.heartbeat = new Heartbeat(settings, this.destination);
    this.store = new KeptStore(settings.state_dir, BUSY_MS, REST_MS);
  }

  begin(): void {
    setTimeout(() => void this.tidy(), FIRST_TIDY_MS);
  }

  ended(): void {
    this.deliverSoon();
  }

  readonly destination = (): Destination => destinationNow(this.settingsPath, this.settings);

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
      await this.withStore((store) => tidyNode(store, this.settings, DELIVERY_PATIENCE_S, this.destination));
    } catch (error) {
      warn(`${join(this.settings.state_dir, 'node.db')}: ${reasonOf(error)}`);
    }
    setTimeout(() => void this.tidy(), TIDY_EVERY_MS);
  }

  private deliverSoon(): void {
    if (this.delivering || this.deliveryTimer !== null) return;
    const wait = Math.max(DELIVER_AFTER_MS, this.deliveredMs + DELIVER_EVERY_MS - monotonicMs());
    this.deliveryTimer = setTimeout(() => void this.deliver(), wait);
  }

  private async deliver(): Promise<void> {
    this.deliveryTimer = null;
    this.delivering = true;
    this.deliveredMs = monotonicMs();
    let left = 0;
    try {
      ({ left } = await this.withStore((store) =>
        deliverOutbox(store, this.settings, DELIVERY_PATIENCE_S, this.destination),
      ));
    } catch (error) {
      warn(`delivery: ${reasonOf(error)}`);
    }
    this.delivering = false;
    if (left > 0) this.deliverSoon();
  }
}

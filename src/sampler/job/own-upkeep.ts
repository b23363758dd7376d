import type { Settings } from '../../record/settings';
import type { Destination } from '../delivery/destination';
import { Heartbeat } from '../delivery/heartbeat';
import { KeptStore } from '../node-store/kept-store';
import { HANDED_PAUSE_MS, tidyNode, type Upkeep } from '../node-store/storage';

/**
 * Upkeep by a sampler that has one job: heartbeats while it runs, all the rest at its end. `delivers` false: defaults
 * stand in for the site's settings, so nothing may be delivered.
 */
export function ownUpkeep(settings: Settings, destination: () => Destination, delivers: boolean): Upkeep {
  const store = new KeptStore(settings.state_dir);
  const heartbeat = delivers ? new Heartbeat(settings, destination) : null;
  return {
    store,
    heartbeat,
    ended: async () => {
      // A heartbeat under way carries the node's other jobs, too: it is given time to arrive.
      await heartbeat?.idle();
      const { opened } = store;
      try {
        if (opened !== null && delivers)
          await tidyNode(opened, settings, settings.delivery_patience, destination, HANDED_PAUSE_MS);
      } finally {
        store.close();
      }
    },
  };
}

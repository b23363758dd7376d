import { MEMORY_COMPLEXES, REQUEST_ORDER } from '../gridengine/memory-complex';
import type { Per } from '../gridengine/memory-request';
import { orderText } from './request';
import { DEFAULT_SETTINGS, type Settings } from './settings';

/** The settings that the rules are made from. */
export type RequestSetting = 'request_complex' | 'request_complex_by_queue' | 'job_complexes' | 'host_complexes';

/** Complexes, of which a job is judged by the first that it requests; their text in a record (null: the usual ones). */
interface Order {
  readonly complexes: readonly string[];
  readonly text: string | null;
}

const orderOf = (complexes: readonly string[]): Order => ({ complexes, text: orderText(complexes) });

/** How a site requests memory, as its settings say. */
export class RequestRules {
  /** Complexes that are recorded beside h_vmem. */
  readonly recorded: ReadonlySet<string>;
  private readonly perJob: ReadonlySet<string>;
  private readonly perHost: ReadonlySet<string>;
  private readonly usual: Order;
  private readonly byQueue: ReadonlyMap<string, Order>;

  constructor(settings: Pick<Settings, RequestSetting>) {
    const {
      request_complex: order,
      request_complex_by_queue: byQueue,
      job_complexes: perJob,
      host_complexes: perHost,
    } = settings;
    this.usual = orderOf(order.length > 0 ? order : REQUEST_ORDER);
    const own = Object.entries(byQueue).filter(([, complexes]) => complexes.length > 0);
    this.byQueue = new Map(own.map(([queue, complexes]) => [queue, orderOf(complexes)]));
    this.recorded = new Set([...MEMORY_COMPLEXES, ...order, ...Object.values(byQueue).flat()]);
    this.perJob = new Set(perJob);
    this.perHost = new Set(perHost);
  }

  per(complex: string): Per {
    return this.perHost.has(complex) ? 'host' : this.perJob.has(complex) ? 'job' : 'slot';
  }

  /** The complexes for a queue, whose jobs are judged by the first that they request; `queue` null: not known. */
  order(queue: string | null): readonly string[] {
    return this.orderIn(queue).complexes;
  }

  /** The order as a record stores it; null: the usual one. */
  orderText(queue: string | null): string | null {
    return this.orderIn(queue).text;
  }

  private orderIn(queue: string | null): Order {
    return (queue === null ? undefined : this.byQueue.get(queue)) ?? this.usual;
  }
}

export const USUAL_RULES = new RequestRules(DEFAULT_SETTINGS);

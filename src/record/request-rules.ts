import { MEMORY_COMPLEXES, REQUEST_ORDER } from '../gridengine/memory-complex';
import { orderText } from './request';
import { DEFAULT_SETTINGS, type Settings } from './settings';

/** The settings that these are made of. */
export type RequestSetting = 'request_complex' | 'request_complex_by_queue' | 'job_complexes';

/** How a site requests memory, as its settings say. */
export class RequestRules {
  /** Complexes that are recorded beside h_vmem. */
  readonly recorded: ReadonlySet<string>;
  private readonly perJob: ReadonlySet<string>;

  constructor(private readonly settings: Pick<Settings, RequestSetting>) {
    const { request_complex: order, request_complex_by_queue: byQueue, job_complexes: perJob } = settings;
    this.recorded = new Set([...MEMORY_COMPLEXES, ...order, ...Object.values(byQueue).flat()]);
    this.perJob = new Set(perJob);
  }

  /** Whether a complex is requested once for the job on a host, not per slot. */
  isPerJob(complex: string): boolean {
    return this.perJob.has(complex);
  }

  /** The complexes by which jobs of a queue are judged, the first requested first; null: no queue is known. */
  order(queue: string | null): readonly string[] {
    const { request_complex: order, request_complex_by_queue: byQueue } = this.settings;
    const own = queue !== null && Object.hasOwn(byQueue, queue) ? byQueue[queue] : undefined;
    return [own, order].find((one) => (one?.length ?? 0) > 0) ?? REQUEST_ORDER;
  }

  /** The same as a record has it; null: the usual order. */
  orderText(queue: string | null): string | null {
    return orderText(this.order(queue));
  }
}

export const USUAL_RULES = new RequestRules(DEFAULT_SETTINGS);

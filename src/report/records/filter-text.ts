import type { RecordFilter } from '../../accounting/store';
import type { Screen } from '../screen/screen';
import { formatBytes, formatDuration, formatPercent } from '../format/units';

/** A filter without its interval, as escaped text: "owner bob, project genome, failed"; '' for no filter. */
export function describeFilter(filter: Partial<RecordFilter>, screen: Screen): string {
  const named = (
    [
      ['owner', filter.owner],
      ['project', filter.project],
      ['queue', filter.queue],
      ['host', filter.host],
      ['parallel environment', filter.pe],
      ['name', filter.job_name],
      ['cluster', filter.cluster],
    ] as const
  ).flatMap(([what, name]) => (name === undefined ? [] : [`${what} ${screen.safe(name)}`]));
  const bound = (what: string, value: number | undefined, format: (value: number) => string): string[] =>
    value === undefined ? [] : [`${what} ${format(value)}`];
  return [
    ...named,
    ...(filter.states === undefined ? [] : [filter.states.join(' or ')]),
    ...(filter.failed === undefined ? [] : [filter.failed ? 'failed' : 'not failed']),
    ...(filter.sampled === undefined ? [] : [filter.sampled ? 'sampled' : 'not sampled']),
    ...bound('peak at least', filter.peak_at_least, formatBytes),
    ...bound('peak at most', filter.peak_at_most, formatBytes),
    ...bound('limit at least', filter.limit_at_least, formatBytes),
    ...bound('limit at most', filter.limit_at_most, formatBytes),
    ...bound('used at least', filter.share_at_least, formatPercent),
    ...bound('used at most', filter.share_at_most, formatPercent),
    ...bound('ran at least', filter.wallclock_at_least, formatDuration),
  ].join(', ');
}

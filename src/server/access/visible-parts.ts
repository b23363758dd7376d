import type { RecordFilter } from '../../accounting/store';
import { isOwn, tellsNames, type Sight } from './access';

/** A part of what a caller may see: to be added, or, as it stands in two that are added, to be taken off. */
interface VisiblePart<Filter extends RecordFilter> {
  readonly sign: 1 | -1;
  readonly filter: Filter;
}

/**
 * What a caller may see of the records of a filter, as filters that a store can answer: their signed sum has each of
 * these records once. Whoever is not told names can't find them out by asking for them either.
 */
export function visibleParts<Filter extends RecordFilter>(
  filter: Filter,
  sight: Sight,
): readonly VisiblePart<Filter>[] {
  if (sight.of === 'all') return [{ sign: 1, filter }];
  const { user } = sight;
  const { owner, project } = filter;
  const own = user === null ? [] : [{ sign: 1, filter: { ...filter, owner: user } } as const];
  if (owner !== undefined && isOwn(owner, sight)) return own;
  const byName = owner !== undefined || filter.job_name !== undefined;
  if (byName && !tellsNames(sight)) return owner === undefined ? own : [];
  if (sight.of === 'anonymous') return [{ sign: 1, filter }];
  const alone = owner === undefined ? own : [];
  if (sight.of !== 'project') return alone;
  if (project !== undefined) return sight.projects.includes(project) ? [{ sign: 1, filter }] : alone;
  const shared = sight.projects.map((name) => ({ ...filter, project: name }));
  const others = shared.map((part) => ({ sign: 1, filter: part }) as const);
  if (owner !== undefined) return others;
  const both = user === null ? [] : shared.map((part) => ({ sign: -1, filter: { ...part, owner: user } }) as const);
  return [...own, ...others, ...both];
}

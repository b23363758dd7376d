import type { ClusterView, HostView, JobView, PendingView } from '../../live/cluster-view';
import { filterHosts, keepsJob, keepsPending, type LiveFilter } from './filter';
import { byHostName, HOST_ORDERS, byNumber, JOB_ORDERS, PENDING_ORDERS, sortRows, type Order } from './orders';
import { chooseHostColumns, hostLines, type HostColumns, type HostLine } from './hosts';
import { JOB_COLUMNS } from './jobs-table';
import { chooseColumns, type LiveColumn } from './live-column';
import { PENDING_COLUMNS } from './pending-table';
import type { Sorting, WatchState } from './watch-state';

const orderOf = <T>(orders: readonly [Order<T>, ...Order<T>[]], key: string): Order<T> =>
  orders.find((order) => order.key === key) ?? orders[0];

/** The running jobs that are asked for, in order. */
export function selectJobs(view: ClusterView, filter: LiveFilter, { key, reverse }: Sorting): readonly JobView[] {
  const kept = view.jobs.filter((job) => keepsJob(filter, job));
  return sortRows(kept, orderOf(JOB_ORDERS, key), reverse, byNumber);
}

/** The waiting jobs that are asked for, in order; null: the view does not have them. */
export function selectPending(
  view: ClusterView,
  filter: LiveFilter,
  { key, reverse }: Sorting,
): readonly PendingView[] | null {
  const kept = view.pending?.filter((job) => keepsPending(filter, job)) ?? null;
  return kept === null ? null : sortRows(kept, orderOf(PENDING_ORDERS, key), reverse, byNumber);
}

/** The hosts that are asked for, each with the jobs that are, in order. */
export function selectHosts(view: ClusterView, filter: LiveFilter, { key, reverse }: Sorting): readonly HostView[] {
  return sortRows(filterHosts(filter, view), orderOf(HOST_ORDERS, key), reverse, byHostName);
}

interface PageRows<Page, Row, Columns = readonly LiveColumn<Row>[]> {
  readonly page: Page;
  readonly all: number;
  readonly rows: readonly Row[];
  readonly columns: Columns;
}

/** All rows of the page that is watched, and the columns that they fill. */
export type Selection =
  | PageRows<'jobs', JobView>
  | PageRows<'pending', PendingView>
  | (PageRows<'hosts', HostLine, HostColumns> & { readonly hosts: readonly HostView[] });

/** Filters and sorts everything; the screen decides which part of it is shown. */
export function selectPage(state: WatchState, view: ClusterView): Selection {
  const { page, filter, details } = state;
  const sorting = state.sorting[page];
  switch (page) {
    case 'jobs': {
      const rows = selectJobs(view, filter, sorting);
      return { page, all: view.jobs.length, rows, columns: chooseColumns(JOB_COLUMNS, rows) };
    }
    case 'pending': {
      const rows = selectPending(view, filter, sorting) ?? [];
      return { page, all: view.pending?.length ?? 0, rows, columns: chooseColumns(PENDING_COLUMNS, rows) };
    }
    case 'hosts': {
      const hosts = selectHosts(view, filter, sorting);
      const rows = hostLines(hosts, details);
      return { page, all: view.hosts.length, rows, hosts, columns: chooseHostColumns(hosts, details) };
    }
  }
}

/** `selectPage` that runs again only when something it depends on has changed: keys that scroll cost nothing. */
export function rememberingSelect(): typeof selectPage {
  let last: { readonly state: WatchState; readonly view: ClusterView; readonly selection: Selection } | null = null;
  return (state, view) => {
    const same =
      last !== null &&
      last.view === view &&
      last.state.page === state.page &&
      last.state.filter === state.filter &&
      last.state.details === state.details &&
      last.state.sorting[state.page] === state.sorting[state.page];
    if (last === null || !same) last = { state, view, selection: selectPage(state, view) };
    return last.selection;
  };
}

import type { JobRecord, MemoryRequest } from '../record/record';
import { formatRequested } from './units';
import type { Screen } from './screen';
import { renderTable } from './table';

function describeRequest(request: MemoryRequest, slots: number | null, where: string, screen: Screen): string {
  const { request_bytes: asked, limit_bytes: limit, per } = request;
  if (limit === null) return asked === null ? 'no limit' : formatRequested(asked);
  if (asked === null) return `${formatRequested(limit)} ${where}`;
  if (per === 'job') return `${formatRequested(limit)} for the whole job`;
  if (slots === null || slots <= 1) return formatRequested(limit);
  return `${formatRequested(asked)} per slot ${screen.glyphs.times} ${slots} slots = ${formatRequested(limit)} ${where}`;
}

/** What the job asked for: h_vmem first, then its other memory requests; `where` its slots are. */
export function renderRequests(record: JobRecord, screen: Screen, where = 'on this host'): string[] {
  const slots = record.host_slots ?? record.slots;
  const others = Object.entries(record.requests).sort(([a], [b]) => (a < b ? -1 : 1));
  const rows = [
    ['h_vmem', record.h_vmem === null ? 'not known' : describeRequest(record.h_vmem, slots, where, screen)],
    ...others.map(([complex, request]) => [screen.safe(complex), describeRequest(request, slots, where, screen)]),
  ];
  return renderTable([{ head: '' }, { head: '' }], rows, screen);
}

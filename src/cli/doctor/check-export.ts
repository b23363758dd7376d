import { join } from 'node:path';
import { readBacklog } from '../../export/push/spool';
import { openMetricSink, openRecordSink } from '../../export/push/sink';
import type { SinkSettings } from '../../record/export-sinks';
import type { Settings } from '../../record/settings';
import { formatCount } from '../../report/format/units';
import { findingsIn, type Finding } from './finding';

const { ok, warning } = findingsIn('export');

/** Long enough for any healthy server. */
const PATIENCE_MS = 10_000;

/** What waits, was dropped or was refused on this host, if its spool can be read; else empty. */
function backlogText(sink: SinkSettings, { export_dir: directory }: Settings): string {
  const backlog = readBacklog(join(directory, sink.name));
  if (backlog === null) return '';
  const { waiting, dropped, refused } = backlog;
  const counts = [
    [waiting, 'rounds wait'],
    [dropped, 'rounds were dropped'],
    [refused, 'values or records were refused'],
  ] as const;
  return counts.flatMap(([count, what]) => (count === 0 ? [] : [`, ${formatCount(count)} ${what}`])).join('');
}

async function checkSink(sink: SinkSettings, settings: Settings): Promise<Finding> {
  const opened =
    sink.what === 'records' ? await openRecordSink(sink, PATIENCE_MS) : await openMetricSink(sink, PATIENCE_MS);
  const outcome = await opened.test();
  const backlog = backlogText(sink, settings);
  const { kind, address } = sink;
  if (outcome.kind === 'later')
    return warning(
      sink.name,
      `${kind} at ${address}: ${outcome.reason}${backlog}`,
      'until then what is new waits here',
    );
  const says = `${kind} at ${address} answers${backlog}`;
  return backlog === '' ? ok(sink.name, says) : warning(sink.name, says);
}

/** Checks that each sink of [[export]] can be reached from here and accepts our credentials. */
export function checkExport(settings: Settings): Promise<Finding[]> {
  return Promise.all(settings.export.map((sink) => checkSink(sink, settings)));
}

import { xmlWriter } from '../../gridengine/xml/write-xml';
import type { Snapshot } from '../../live/snapshot';
import { renderQhostXml, renderQstatXml } from '../../report/live/gridengine-xml';
import type { HostsReport } from '../../report/live/hosts';
import type { JobsReport } from '../../report/live/jobs';
import type { LiveFilter } from '../../report/live/filter';
import { usageError, type GlobalOptions } from '../command';
import type { Terminal } from '../terminal';

interface XmlOptions extends Pick<GlobalOptions, 'json' | 'csv'> {
  readonly xml?: boolean;
  readonly watch?: string | true;
  readonly atRisk?: boolean;
  readonly full?: boolean;
}

/** Whether Grid Engine's own XML is asked for. Throws a usage error if another form is asked for, too. */
export function wantsXml({ xml = false, json, csv, watch, atRisk, full }: XmlOptions): boolean {
  if (!xml && full) throw usageError('--full is a form of --xml: give --xml, too');
  if (xml && (json || csv || watch !== undefined || atRisk))
    throw usageError('--xml answers once and alone: leave --json, --csv, --watch and --at-risk out');
  return xml;
}

/** `queues` as in renderQstatXml. */
export async function writeQstatXml(
  snapshot: Snapshot,
  report: JobsReport,
  queues: LiveFilter | null,
  terminal: Terminal,
): Promise<void> {
  terminal.write(renderQstatXml(snapshot, report, queues, await xmlWriter()));
}

export async function writeQhostXml(snapshot: Snapshot, { hosts }: HostsReport, terminal: Terminal): Promise<void> {
  terminal.write(renderQhostXml(snapshot, hosts, await xmlWriter()));
}

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { importFile } from '../../src/accounting/import/import-file';
import { openPostgresHistory } from '../../src/accounting/postgres/postgres-history';
import { formatCount } from '../../src/report/format/units';
import { noPostgres, startServer } from '../accounting/postgres/server';
import type { Row } from './bench';
import { FIRST_JOB, type History } from './history-fill';
import { lineText, WEEK_MS } from './history-week';
import { CLUSTER, later, row, timed } from './import-rows';

/** Records of the sampler that lines of one more week join; as many other lines come with them. */
const JOINED = 10_000;
const BATCH = 500;

/** The same file into a PostgreSQL of this benchmark on this host, with default settings but for 128 MiB of buffers. */
export async function intoPostgres(history: History, directory: string): Promise<readonly Row[]> {
  if (noPostgres !== false) return [{ what: 'into PostgreSQL', unit: 'us', values: [], note: noPostgres }];
  const server = await startServer({ settings: ['shared_buffers = 128MB', 'fsync = on'] });
  try {
    const name = await server.database();
    const store = openPostgresHistory(server.url(name));
    const empty = await timed(() => importFile(history.file, store, { cluster: CLUSTER }));
    if (empty.value.added !== history.records) throw new Error(`${empty.value.added} of ${history.records}`);
    const rolled = await timed(() => store.rollUp({}));
    const [size] = (await server.run(
      name,
      `SELECT sum(pg_total_relation_size(oid))::double precision AS bytes FROM pg_class
       WHERE relnamespace = 'qmemacct'::regnamespace AND relkind = 'r' AND relname = 'record'`,
    )) as readonly { readonly bytes: number }[];

    const { week, weeks } = history;
    const jobs = weeks * week.jobs;
    const met = week.runs.filter(({ record }) => record !== null).slice(0, JOINED);
    const others = week.runs.filter(({ record }) => record === null).slice(0, met.length);
    const records = met.flatMap(({ record }) => (record === null ? [] : later(record, jobs, weeks * WEEK_MS)));
    const merged = await timed(async () => {
      for (let at = 0; at < records.length; at += BATCH) await store.merge(records.slice(at, at + BATCH));
    });
    const file = join(directory, 'half');
    const runs = [...met, ...others].sort((a, b) => a.job - b.job);
    writeFileSync(
      file,
      runs.map(({ job, line }) => lineText(line, FIRST_JOB + job + jobs, (weeks * WEEK_MS) / 1000)).join(''),
    );
    const half = await timed(() => importFile(file, store, { cluster: CLUSTER }));
    if (half.value.joined !== met.length) throw new Error(`${half.value.joined} of ${met.length} joined`);
    await store.close();
    return [
      row('a line into an empty PostgreSQL', history.records, empty),
      row(`its roll-up afterwards, ${rolled.value} days`, history.records, rolled),
      { what: 'a record there with all indexes', unit: 'bytes', values: [(size?.bytes ?? NaN) / history.records] },
      row('a record delivered to it', records.length, merged),
      row(
        `a line into ${formatCount(history.records)} records, ${met.length} of ${runs.length} joined`,
        runs.length,
        half,
      ),
    ];
  } finally {
    await server.remove();
  }
}

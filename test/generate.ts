import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { postgresSchema } from '../src/accounting/postgres/schema-text';
import { sqliteSchema } from '../src/accounting/sqlite/schema-text';
import { packageRoot } from '../src/base/package-root';
import { indexTemplate } from '../src/export/push/elasticsearch';
import { DASHBOARDS } from './dashboards/dashboards';
import { withScreens } from './report/golden';
import { fieldReference, metricReference, questionReference, settingsReference } from './reference';
import { duckdbViews } from './duckdb-views';
import { supportMatrix } from './support-matrix';

/** Files that are made from the code and checked in; `npm run generate` writes them anew. */
export const GENERATED: readonly { readonly path: string; readonly make: (present: string) => string }[] = [
  { path: 'sql/accounting/sqlite/001-schema.sql', make: sqliteSchema },
  { path: 'sql/accounting/postgres/001-schema.sql', make: postgresSchema },
  { path: 'docs/fields.md', make: fieldReference },
  { path: 'docs/sql.md', make: questionReference },
  { path: 'docs/user-guide.md', make: withScreens },
  { path: 'docs/settings.md', make: settingsReference },
  { path: 'docs/versions.md', make: supportMatrix },
  { path: 'docs/metrics.md', make: metricReference },
  ...DASHBOARDS.map(({ file, text }) => ({ path: `docs/examples/grafana/${file}`, make: text })),
  { path: 'docs/examples/elasticsearch-template.json', make: () => `${JSON.stringify(indexTemplate(), null, 2)}\n` },
  { path: 'docs/examples/duckdb.sql', make: duckdbViews },
];

if (require.main === module)
  for (const { path, make } of GENERATED) {
    const file = join(packageRoot(), path);
    writeFileSync(file, make(existsSync(file) ? readFileSync(file, 'utf8') : ''));
  }

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withGenerated } from '../src/accounting/schema-text';
import { packageRoot } from '../src/base/package-root';
import { fieldReference, settingsReference } from './reference';

/** `npm run generate`: writes anew what is made from the code and checked in. */
export const GENERATED: readonly { readonly path: string; readonly make: (present: string) => string }[] = [
  { path: 'sql/accounting/sqlite/001-schema.sql', make: withGenerated },
  { path: 'docs/fields.md', make: fieldReference },
  { path: 'docs/settings.md', make: settingsReference },
];

if (require.main === module)
  for (const { path, make } of GENERATED) {
    const file = join(packageRoot(), path);
    writeFileSync(file, make(existsSync(file) ? readFileSync(file, 'utf8') : ''));
  }

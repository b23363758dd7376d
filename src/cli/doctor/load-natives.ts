/** `node load-natives.js`: loads the native modules and prints Node's version, or in one line why they do not load. */
import { reasonOf } from '../../base/user-error';

async function load(): Promise<void> {
  await import('../../native/libc.js');
  const { SqliteDatabase } = await import('../../native/sqlite.js');
  const database = new SqliteDatabase(':memory:');
  database.prepare('SELECT 1').get();
  database.close();
}

load().then(
  () => process.stdout.write(process.version),
  (error: unknown) => {
    process.stderr.write(`${reasonOf(error)}\n`);
    process.exitCode = 1;
  },
);

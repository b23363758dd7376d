/** `node load-natives.js`: loads what is compiled, and prints which Node it is; else why not, in one line. */
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

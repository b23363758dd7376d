/** `node load-natives.js`: loads what is compiled, and prints which Node it is. */
import '../../native/libc';
import { SqliteDatabase } from '../../native/sqlite';

const database = new SqliteDatabase(':memory:');
database.prepare('SELECT 1').get();
database.close();
process.stdout.write(process.version);

import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { codeOf } from '../../base/error-code';
import { StoreError } from '../store-error';

/** Server, database and user that a password is for. */
export interface Login {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
}

const LARGEST = 65_536;
const OTHERS = 0o077;

/** The five fields of a line; a backslash escapes a colon or a backslash. */
function fieldsOf(line: string): readonly string[] {
  return [...line.matchAll(/(?:^|:)((?:\\.|[^:\\])*)/g)].map(([, field = '']) => field.replace(/\\(.)/g, '$1'));
}

/** The password for `whose` in the text of a pgpass file (HOST:PORT:DATABASE:USER:PASSWORD, `*` for any); null: none. */
export function passwordIn(text: string, whose: Login): string | null {
  const wanted = [whose.host, String(whose.port), whose.database, whose.user];
  for (const line of text.split(/\r?\n/)) {
    if (line === '' || line.startsWith('#')) continue;
    const fields = fieldsOf(line);
    const password = fields[4];
    if (password === undefined) continue;
    if (wanted.every((value, index) => fields[index] === '*' || fields[index] === value)) return password;
  }
  return null;
}

/**
 * The password for `whose` from a pgpass file that nobody but its owner can read. null: the file has no line for it.
 * Throws StoreError, which tells nothing of the file's content.
 */
export function readPassword(path: string, whose: Login): string | null {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const code = codeOf(error);
    throw new StoreError(
      path,
      `the credentials can't be read (${code})`,
      'let it belong to the user who delivers (deliver_as), with mode 0600',
      code === 'ENOENT' || code === 'EIO',
      error,
    );
  }
  try {
    const { mode, size, uid } = fstatSync(file);
    const refuse = (reason: string, hint: string): never => {
      throw new StoreError(path, reason, hint, false);
    };
    if ((mode & constants.S_IFMT) !== constants.S_IFREG || size > LARGEST)
      refuse('the credentials are not a small file', 'write one line HOST:PORT:DATABASE:USER:PASSWORD');
    if (mode & OTHERS) refuse('others can read the credentials', `chmod 0600 ${path}, and change the password`);
    // Root may read the deliverer's file: "serve" and the reports may run as root, too.
    if (uid !== process.geteuid?.() && uid !== 0 && process.geteuid?.() !== 0)
      refuse('the credentials belong to another user', 'let them belong to the user who delivers (deliver_as)');
    return passwordIn(readFileSync(file, 'utf8'), whose);
  } finally {
    closeSync(file);
  }
}

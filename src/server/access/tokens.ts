import { createHash, timingSafeEqual } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { codeOf } from '../../base/error-code';
import { MIB } from '../../base/units';
import { fileState } from '../../base/file-state';
import { reasonOf } from '../../base/user-error';

/** Shorter tokens can be guessed. */
const SHORTEST = 16;
const LONGEST_FILE_BYTES = MIB;
const GROUP_OR_OTHERS = 0o077;

const digest = (token: string): Buffer => createHash('sha256').update(token).digest();

interface Kept {
  readonly state: string;
  readonly digests: readonly Buffer[];
  readonly problem: string | null;
}

/**
 * Digests of the tokens in a file that only its owner (this process's user, or root) can read. Throws for any other.
 */
function readTokens(path: string): readonly Buffer[] {
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const { mode, uid, size } = fstatSync(file);
    const octal = (mode & 0o777).toString(8).padStart(4, '0');
    if ((mode & constants.S_IFMT) !== constants.S_IFREG) throw new Error('it is not a regular file');
    if (uid !== 0 && uid !== process.geteuid?.())
      throw new Error(`it belongs to uid ${uid}; chown it to the user of deliver_as, as whom the server runs`);
    if (mode & GROUP_OR_OTHERS) throw new Error(`others may use it (mode ${octal}); chmod 600 it`);
    if (size > LONGEST_FILE_BYTES) throw new Error('it is larger than 1 MiB; one token in a line');
    const lines = readFileSync(file, 'utf8')
      .split('\n')
      .map((line) => line.trim());
    const tokens = lines.filter((line) => line !== '' && !line.startsWith('#'));
    const short = tokens.filter((token) => token.length < SHORTEST).length;
    if (short > 0)
      throw new Error(
        `${short} of its tokens are shorter than ${SHORTEST} characters; make them by "openssl rand -hex 32"`,
      );
    return tokens.map(digest);
  } finally {
    closeSync(file);
  }
}

function hintOf(error: unknown): string {
  const denied = codeOf(error) === 'EACCES';
  return denied ? '; chown it to the user of deliver_as, as whom the server runs' : '';
}

const NONE: Kept = { state: '', digests: [], problem: null };

/**
 * The site's tokens: a caller with one sees what an admin sees. The file has one a line and `#` comments; '': no file.
 */
export class Tokens {
  private kept = NONE;

  constructor(private readonly path: () => string) {}

  /** Whether this is one of the site's tokens; takes the same time for any token. */
  has(token: string): boolean {
    const shown = digest(token);
    return this.newest().digests.reduce((found, known) => timingSafeEqual(known, shown) || found, false);
  }

  /** Why the file can't be used; null: it can, or there is none. */
  problem(): string | null {
    return this.newest().problem;
  }

  /** Reads the file again when it has changed, or is another one. */
  private newest(): Kept {
    const path = this.path();
    if (path === '') return NONE;
    const state = `${path} ${fileState(path)}`;
    if (state === this.kept.state) return this.kept;
    try {
      this.kept = { state, digests: readTokens(path), problem: null };
    } catch (error) {
      const problem = `serve_tokens ${path} can't be used: ${reasonOf(error)}${hintOf(error)}; no token is accepted`;
      this.kept = { state, digests: [], problem };
    }
    return this.kept;
  }
}

import { existsSync, lstatSync } from 'node:fs';
import { reasonOf } from '../../base/user-error';
import type { Settings } from '../../record/settings';
import type { SystemPlaces } from '../install/places';
import { serverProblem } from '../install/serve-files';
import { isSetUp, SERVER } from '../install/services';
import { delivererName, delivererOwner } from '../stores/maintenance';
import { findingsIn, type Finding } from './finding';

const { ok, warning, problem } = findingsIn('server');

const GROUP_OR_OTHERS = 0o077;

/** Why the server, run as the user of deliver_as, accepts no token of the file; null: it does. Throws UserError. */
function tokensFault(path: string, settings: Served): string | null {
  const { uid: wanted } = delivererOwner(settings);
  try {
    const file = lstatSync(path);
    const { uid, mode } = file;
    if (!file.isFile()) return 'is not a regular file';
    if (uid !== wanted) return `belongs to uid ${uid}, not to uid ${wanted}, as whom the server runs`;
    return mode & GROUP_OR_OTHERS ? 'can be used by others' : null;
  } catch (error) {
    return `can't be looked at: ${reasonOf(error)}`;
  }
}

function checkTokens(settings: Served, isRoot: boolean): Finding[] {
  const { serve_tokens: path } = settings;
  if (path === '' || !isRoot) return [];
  const name = delivererName(settings);
  try {
    const fault = tokensFault(path, settings);
    if (fault === null) return [ok('tokens', path)];
    return [warning('tokens', `${path} ${fault}: no token is accepted`, `chown ${name} ${path}; chmod 600 ${path}`)];
  } catch (error) {
    return [warning('tokens', reasonOf(error))];
  }
}

type Served = Pick<Settings, 'serve_socket' | 'serve_tokens' | 'deliver_as'>;

async function checkAnswer(socket: string): Promise<Finding> {
  const answer = await serverProblem(socket);
  if (answer === '') return ok('server', `it answers at ${socket}`);
  if (answer !== null) return warning('server', `at ${socket}: ${answer}`, 'look for "qmemacct" in the system log');
  return problem(
    'server',
    `none answers at ${socket}: ${SERVER.without}`,
    `look for "qmemacct" in the system log, then systemctl restart ${SERVER.name}, or "qmemacct serve"`,
  );
}

/** Checks the server, on a host that starts one, or where one was started by hand. */
export async function checkServer(settings: Served, isRoot: boolean, places: SystemPlaces): Promise<Finding[]> {
  const { serve_socket: socket } = settings;
  const isStarted = isSetUp(SERVER, places);
  if (!isStarted && !existsSync(socket)) return [];
  return [await checkAnswer(socket), ...(isStarted ? checkTokens(settings, isRoot) : [])];
}

import { existsSync, lstatSync, statSync } from 'node:fs';
import { reasonOf } from '../../base/user-error';
import type { Settings } from '../../record/settings';
import type { SystemPlaces } from '../install/places';
import { askServer } from '../install/serve-files';
import { isSetUp, SERVER } from '../install/services';
import { delivererName, delivererOwner } from '../stores/maintenance';
import { findingsIn, type Finding } from './finding';
import type { NodeState } from './node-state';

const { ok, note, warning, problem } = findingsIn('server');

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

interface ServerHost extends Pick<NodeState, 'settingsPath' | 'isRoot'> {
  readonly settings: Served;
}

const RESTART = `systemctl restart ${SERVER.name}`;

async function checkAnswer(socket: string, settingsPath: string): Promise<Finding[]> {
  const answer = await askServer(socket);
  if (answer === null)
    return [
      problem(
        'server',
        `none answers at ${socket}: ${SERVER.without}`,
        `look for "qmemacct" in the system log, then ${RESTART}, or "qmemacct serve"`,
      ),
    ];
  const changedAt = statSync(settingsPath, { throwIfNoEntry: false })?.mtimeMs ?? -Infinity;
  return [
    answer.problem === null
      ? ok('server', `it answers at ${socket}`)
      : warning('server', `at ${socket}: ${answer.problem}`, 'look for "qmemacct" in the system log'),
    ...(answer.startedAt !== null && changedAt > answer.startedAt
      ? [
          note(
            'server',
            `it is older than the last change of ${settingsPath}, of which it takes only visibility, serve_names, serve_admins and serve_tokens`,
            `${RESTART}, or send it SIGHUP`,
          ),
        ]
      : []),
  ];
}

/** Checks the server, on a host that starts one, or where one was started by hand. */
export async function checkServer(state: ServerHost, places: SystemPlaces): Promise<Finding[]> {
  const { settings, settingsPath, isRoot } = state;
  const { serve_socket: socket } = settings;
  const isStarted = isSetUp(SERVER, places);
  if (!isStarted && !existsSync(socket)) return [];
  return [...(await checkAnswer(socket, settingsPath)), ...(isStarted ? checkTokens(settings, isRoot) : [])];
}

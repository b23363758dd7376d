import { existsSync } from 'node:fs';
import type { Settings } from '../../record/settings';
import type { SystemPlaces } from '../install/places';
import { answering, startsServer, WITHOUT_SERVER } from '../install/serve-files';
import { findingsIn, type Finding } from './finding';

const { ok, warning, problem } = findingsIn('server');

/** The server, on a host that starts one, or on which one was started by hand. */
export async function checkServer(
  { serve_socket: socket }: Pick<Settings, 'serve_socket'>,
  places: SystemPlaces,
): Promise<Finding[]> {
  if (!startsServer(places) && !existsSync(socket)) return [];
  const answer = await answering(socket);
  if (answer === '') return [ok('server', `it answers at ${socket}`)];
  if (answer !== null) return [warning('server', `at ${socket}: ${answer}`, 'look for "qmemacct" in the system log')];
  return [
    problem(
      'server',
      `none answers at ${socket}: ${WITHOUT_SERVER}`,
      'look for "qmemacct" in the system log, then systemctl restart qmemacct-serve, or "qmemacct serve"',
    ),
  ];
}

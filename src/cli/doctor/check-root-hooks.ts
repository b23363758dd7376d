import { sanitisesRootHooks, type DetectedDialect } from '../../gridengine/dialect';
import { STATIC_ENV_FIX, unsafeEnv } from '../install/static-env';
import { findingsIn, type Finding } from './finding';

const { ok, problem } = findingsIn('Grid Engine');

/**
 * Checks whether a job's owner could make root run code through our configured lines. `envs`: the `env` programs that
 * these lines start with on this host.
 */
export function* checkRootHooks(envs: readonly string[], detected: DetectedDialect): Generator<Finding> {
  if (envs.length === 0 || sanitisesRootHooks(detected)) return;
  const bad = [...new Set(envs)].flatMap((path) => {
    const reason = unsafeEnv(path);
    return reason === null ? [] : [`${path}: ${reason}`];
  });
  if (bad.length === 0) yield ok('root hooks', `start with a static env: ${[...new Set(envs)].join(', ')}`);
  else
    yield problem(
      'root hooks',
      `any job's owner may become root: this Grid Engine is not known to keep LD_AUDIT and the like from hooks of root, and the env of our lines lets them in (${bad.join(', ')})`,
      `run "qmemacct install" again: ${STATIC_ENV_FIX}`,
    );
}

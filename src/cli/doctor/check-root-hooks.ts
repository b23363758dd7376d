import { sanitisesRootHooks, type DetectedDialect } from '../../gridengine/dialect';
import { STATIC_ENV_FIX, unsafeEnv } from '../install/static-env';
import { findingsIn, type Finding } from './finding';

const { ok, problem } = findingsIn('Grid Engine');

/**
 * Whether the job's owner could have code run by root through our lines: `envs` are the programs that they start with
 * on this host.
 */
export function checkRootHooks(envs: readonly string[], detected: DetectedDialect): readonly Finding[] {
  if (envs.length === 0 || sanitisesRootHooks(detected)) return [];
  const bad = [...new Set(envs)].flatMap((path) => {
    const reason = unsafeEnv(path);
    return reason === null ? [] : [`${path}: ${reason}`];
  });
  if (bad.length === 0) return [ok('root hooks', `start with a static env: ${[...new Set(envs)].join(', ')}`)];
  return [
    problem(
      'root hooks',
      `any job's owner may become root: this Grid Engine is not known to keep LD_AUDIT and the like from hooks of root, and the env of our lines lets them in (${bad.join(', ')})`,
      `run "qmemacct install" again: ${STATIC_ENV_FIX}`,
    ),
  ];
}

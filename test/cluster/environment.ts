import { kind } from './kind';

/** PATH of the cell's commands, whatever PATH this process has. */
export const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/**
 * The environment of everything that runs in a cell, without this process's own: daemons pass theirs on to hooks
 * (INHERIT_ENV), and a test runner's NODE_OPTIONS or NODE_TEST_CONTEXT would change a Node process in a job.
 */
export function cellEnvironment(user: { readonly name: string; readonly home: string }): Record<string, string> {
  return {
    PATH: [...kind.path, systemPath].join(':'),
    HOME: user.home,
    USER: user.name,
    LOGNAME: user.name,
    SHELL: '/bin/bash',
    LANG: 'C.UTF-8',
    SGE_ROOT: kind.sgeRoot,
    SGE_CELL: 'default',
    SGE_QMASTER_PORT: '6444',
    SGE_EXECD_PORT: '6445',
  };
}

export const rootEnvironment = cellEnvironment({ name: 'root', home: '/root' });

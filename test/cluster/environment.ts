import { kind } from './kind';

/** Where the cell's commands are looked for, whatever PATH this process has. */
export const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/**
 * The environment of everything that runs in a cell.
 * It is made afresh: daemons hand theirs on to hooks (INHERIT_ENV), and a test runner's NODE_OPTIONS or
 * NODE_TEST_CONTEXT would change what a Node process in a job does.
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

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import fc from 'fast-check';

import {
  configurationValue,
  isNone,
  readConfiguration,
  serialise,
  withValue,
  type Configuration,
} from '../../src/gridengine/configuration';

/** Global configuration as `qconf -sconf` of 8.1.9 prints it. */
const global = `#global:
execd_spool_dir              /var/spool/gridengine/execd
mailer                       /usr/bin/mail
prolog                       none
epilog                       none
shell_start_mode             posix_compliant
login_shells                 bash,sh,ksh,csh,tcsh
execd_params                 none
reporting_params             accounting=true reporting=false \\
                             flush_time=00:00:15 joblog=false \\
                             sharelog=00:00:00
gid_range                    65400-65500
jsv_allowed_mod              ac,h,i,e,o,j,M,N,p,w
`;

const queue = `qname                 all.q
hostlist              @allhosts
pe_list               make,[@dual=all-mpi mpi-4], \\
                      [node1=mpi]
prolog                NONE,[@gpu=root@/opt/site/gpu.sh $job_id], \\
                      [node1=NONE]
epilog                NONE
h_vmem                INFINITY
`;

/** A queue as `qconf -sq` of 8.1.9 wraps it at 80 columns; with SGE_SINGLE_LINE it prints the value in one line. */
const wrapped = `tmpdir                /tmp
prolog                root@/usr/bin/env -i /bin/sh -p \\
                      /opt/qmemacct/hooks/prolog.sh $job_id $ja_task_id -- \\
                      root@/site/really/long/path/to/a/site/hook.sh $job_id \\
                      $host,with,commas $queue,[gex=root@/usr/bin/env -i \\
                      /bin/sh -p /opt/qmemacct/hooks/prolog.sh $job_id \\
                      $ja_task_id -- /x]
epilog                NONE
`;

function changed(configuration: Configuration, key: string, value: string | null): Configuration {
  const result = withValue(configuration, key, value);
  assert.ok(result.ok, result.ok ? '' : result.error);
  return result.value;
}

describe('readConfiguration', () => {
  it('finds values and joins their continuation lines', () => {
    const configuration = readConfiguration(global);
    assert.equal(configurationValue(configuration, 'prolog'), 'none');
    assert.equal(
      configurationValue(configuration, 'reporting_params'),
      'accounting=true reporting=false flush_time=00:00:15 joblog=false sharelog=00:00:00',
    );
    assert.equal(configurationValue(configuration, 'gid_range'), '65400-65500');
    assert.equal(configurationValue(configuration, 'sharelog=00:00:00'), null);
    assert.equal(configurationValue(configuration, '#global:'), null);
    assert.equal(
      configurationValue(readConfiguration(queue), 'prolog'),
      'NONE,[@gpu=root@/opt/site/gpu.sh $job_id],[node1=NONE]',
    );
  });

  it('reads a long hook as it was set', () => {
    const hook = 'root@/usr/bin/env -i /bin/sh -p /opt/qmemacct/hooks/prolog.sh $job_id $ja_task_id --';
    assert.equal(
      configurationValue(readConfiguration(wrapped), 'prolog'),
      `${hook} root@/site/really/long/path/to/a/site/hook.sh $job_id $host,with,commas $queue,[gex=${hook} /x]`,
    );
  });

  it('reads a key without a value as an empty value', () => {
    assert.equal(configurationValue(readConfiguration('user_lists\nx 1'), 'user_lists'), '');
  });

  it('keeps any text, so that serialise writes it back exactly', () => {
    assert.equal(serialise(readConfiguration(global)), global);
    assert.equal(serialise(readConfiguration(queue)), queue);
    const pieces = fc.constantFrom('\n', '\\', ' ', '\t', '\r', '#', 'a', 'key', ',', '[');
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(pieces).map((parts) => parts.join('')),
        ),
        (text) => assert.equal(serialise(readConfiguration(text)), text),
      ),
    );
  });
});

describe('withValue', () => {
  it('changes one line and nothing else', () => {
    const text = serialise(changed(readConfiguration(global), 'prolog', '/opt/a.sh $job_id'));
    assert.equal(
      text,
      global.replace('prolog                       none', 'prolog                       /opt/a.sh $job_id'),
    );
  });

  it('replaces all lines of a continued value', () => {
    const text = serialise(changed(readConfiguration(queue), 'prolog', 'NONE'));
    assert.equal(text, queue.replace(/prolog.*\n.*\n/, 'prolog                NONE\n'));
  });

  it('keeps the lines of a value that does not change', () => {
    const configuration = readConfiguration(queue);
    assert.equal(serialise(changed(configuration, 'pe_list', 'make,[@dual=all-mpi mpi-4],[node1=mpi]')), queue);
  });

  it('adds a line in the column of the others, also where the last line has no line feed', () => {
    const local = readConfiguration('#node1:\nmailer     /bin/mail');
    assert.equal(serialise(changed(local, 'prolog', '/x')), '#node1:\nmailer     /bin/mail\nprolog     /x\n');
    assert.equal(serialise(changed(readConfiguration(''), 'prolog', '/x')), 'prolog /x\n');
  });

  it('removes a line, and undoes the addition of a key exactly', () => {
    const configuration = readConfiguration(global);
    assert.equal(serialise(changed(configuration, 'epilog', null)), global.replace(/epilog.*\n/, ''));
    assert.equal(serialise(changed(changed(configuration, 'starter', 'x'), 'starter', null)), global);
  });

  it('refuses a key or value that the file cannot hold', () => {
    const configuration = readConfiguration(global);
    for (const value of ['', ' x', 'x ', 'a\nb', 'a\\'])
      assert.equal(withValue(configuration, 'prolog', value).ok, false);
    assert.equal(withValue(configuration, 'a b', 'x').ok, false);
  });

  it('sets any value so that readConfiguration reads it back', () => {
    const values = fc.string({ minLength: 1 }).filter((value) => value.trim() === value && !/[\n\r\0]|\\$/.test(value));
    fc.assert(
      fc.property(values, (value) => {
        const text = serialise(changed(readConfiguration(global), 'epilog', value));
        assert.equal(configurationValue(readConfiguration(text), 'epilog'), value);
      }),
    );
  });
});

describe('isNone', () => {
  it('is true for NONE in any case and for an empty value', () => {
    for (const value of ['NONE', 'none', 'None', '']) assert.equal(isNone(value), true);
    assert.equal(isNone('/bin/none'), false);
  });
});

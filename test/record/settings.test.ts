import assert from 'node:assert/strict';
import { chmodSync, chownSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import {
  DEFAULT_SETTINGS,
  loadHostSettings,
  loadSettings,
  parseSettings,
  SettingsError,
  usableSettings,
  type Settings,
} from '../../src/record/settings';
import { temporaryDirectory } from '../support/temporary-directory';

const PATH = '/etc/qmemacct/qmemacct.toml';

function problem(text: string): SettingsError {
  try {
    parseSettings(text, PATH);
  } catch (error) {
    assert.ok(error instanceof SettingsError, String(error));
    return error;
  }
  throw new assert.AssertionError({ message: `was accepted: ${text}` });
}

/** Keys with a number: the lowest and the highest accepted. */
const NUMBERS: readonly (readonly [keyof Settings, number, number])[] = [
  ['interval', 0.05, 3600],
  ['scan_interval', 5, 3600],
  ['processes_per_sample', 0, 1000],
  ['arm_wait_ms', 0, 1000],
  ['cpu_budget_percent', 0.01, 100],
  ['keep_samples_days', 0, 36500],
  ['keep_samples_mib', 1, 1048576],
  ['delivery_jitter_ms', 0, 600000],
  ['delivery_patience', 0, 86400],
  ['helper_deadline', 0.1, 600],
  ['heartbeat', 0, 86400],
  ['poll_interval', 1, 3600],
  ['usage_interval', 1, 3600],
  ['command_timeout', 1, 600],
  ['serve_port', 0, 65535],
  ['metrics_jobs', 0, 10000],
  ['metrics_job_names', 0, 10000],
  ['keep_records_days', 0, 36500],
  ['keep_charts_days', 0, 36500],
  ['keep_rollups_days', 0, 36500],
];
const STRINGS = (Object.keys(DEFAULT_SETTINGS) as (keyof Settings)[]).filter(
  (key) => typeof DEFAULT_SETTINGS[key] === 'string',
);

describe('parseSettings', () => {
  it('gives the defaults for an empty file', () => {
    assert.deepEqual(parseSettings('', PATH), DEFAULT_SETTINGS);
    assert.deepEqual(parseSettings('# nothing\n', PATH), DEFAULT_SETTINGS);
  });

  it('has no number without bounds in this test', () => {
    const numbers = Object.entries(DEFAULT_SETTINGS).flatMap(([key, value]) => (typeof value === 'number' ? key : []));
    assert.deepEqual(numbers.sort(), [...NUMBERS.map(([key]) => key), 'listener_linger'].sort());
  });

  it('accepts the defaults themselves', () => {
    const text = Object.entries(DEFAULT_SETTINGS)
      .filter(([key]) => key !== 'sources' && key !== 'request_complex_by_queue')
      .map(([key, value]) => `${key} = ${value === Infinity ? 'inf' : JSON.stringify(value)}`)
      .join('\n');
    assert.deepEqual(parseSettings(text, PATH), DEFAULT_SETTINGS);
  });

  it('accepts a path or a PostgreSQL URL without a password for the accounting DB', () => {
    for (const accounting of ['/nfs/accounting.db', 'postgres://db.example/accounting?sslmode=verify-full'])
      assert.equal(parseSettings(`accounting = "${accounting}"`, PATH).accounting, accounting);
    assert.throws(() => parseSettings('accounting = "mysql://x/y"', PATH), /nor postgres:\/\/HOST\/DATABASE/);
    assert.throws(
      () => parseSettings('accounting = "postgres://bob:secret@x/y"', PATH),
      (error: Error) => {
        assert.match(error.message, /holds a password; write .* into the file of accounting_credentials/);
        return !error.message.includes('secret');
      },
    );
  });

  it('changes only the keys that are given', () => {
    assert.deepEqual(parseSettings('cluster = "north"\ninterval = 0.5\nrequest_complex = ["gpu_mem"]\n', PATH), {
      ...DEFAULT_SETTINGS,
      cluster: 'north',
      interval: 0.5,
      request_complex: ['gpu_mem'],
    });
  });

  it('accepts listener_linger from 0 on, and inf', () => {
    for (const [text, value] of [
      ['0', 0],
      ['60', 60],
      ['1e9', 1e9],
      ['inf', Infinity],
    ] as const)
      assert.equal(parseSettings(`listener_linger = ${text}`, PATH).listener_linger, value);
    for (const text of ['-1', '-inf', 'nan', '"inf"'])
      assert.match(problem(`listener_linger = ${text}`).message, /is not a number from 0 on, or inf; .* is inf$/);
  });

  for (const [key, least, most] of NUMBERS)
    it(`accepts ${key} from ${least} to ${most}`, () => {
      for (const value of [least, most]) assert.equal(parseSettings(`${key} = ${value}`, PATH)[key], value);
      for (const value of [
        String(least - 0.001),
        String(most + 1),
        '-1e9',
        'nan',
        'inf',
        '"1"',
        'true',
        '[1]',
        '1979-05-27',
      ]) {
        const error = problem(`${key} = ${value}`);
        assert.match(error.message, new RegExp(`"${key}" is not a number of ${least} to ${most}`));
        assert.equal(error.hint, `the default is ${JSON.stringify(DEFAULT_SETTINGS[key])}`);
        assert.equal(error.path, PATH);
      }
    });

  for (const key of STRINGS)
    it(`refuses ${key} unless it is a string`, () => {
      for (const value of ['1', 'true', '["x"]', '{ a = 1 }'])
        assert.match(problem(`${key} = ${value}`).message, new RegExp(`"${key}" is not a string`));
    });

  it('accepts a table for a source of any name, since source names are checked elsewhere', () => {
    const { sources } = parseSettings(
      '[sources.perf]\nenabled = true\nevents = ["cycles"]\n[sources.other]\ninterval = 30\n',
      PATH,
    );
    assert.deepEqual({ ...sources }, { perf: { enabled: true, events: ['cycles'] }, other: { interval: 30 } });
    for (const [text, complaint] of [
      ['sources = 1', /"sources" is not a table/],
      ['[sources]\nperf = true', /"sources.perf" is not a table/],
      ['[sources.perf]\nevents = [1]', /"sources.perf.events" is not a string, number, boolean or list of strings/],
      ['[sources.perf.deeper]\nx = 1', /"sources.perf.deeper" is not a string/],
      ['[sources.perf]\nsince = 1979-05-27', /"sources.perf.since" is not a string/],
    ] as const)
      assert.match(problem(text).message, complaint);
  });

  it('accepts only true and false for listener', () => {
    assert.equal(parseSettings('listener = false', PATH).listener, false);
    for (const value of ['1', '"true"', '[]'])
      assert.match(problem(`listener = ${value}`).message, /"listener" is not true or false/);
  });

  it('accepts only off, auto and own for cgroup', () => {
    for (const value of ['off', 'auto', 'own']) assert.equal(parseSettings(`cgroup = "${value}"`, PATH).cgroup, value);
    assert.match(problem('cgroup = "on"').message, /"cgroup" is none of off, auto, own/);
  });

  it('accepts only absolute paths', () => {
    for (const key of ['state_dir', 'run_dir', 'accounting', 'serve_socket'] as const) {
      assert.equal(parseSettings(`${key} = "/some/where"`, PATH)[key], '/some/where');
      for (const value of ['', 'relative', '~/x', '$HOME/x'])
        assert.match(problem(`${key} = "${value}"`).message, /is not an absolute path/);
    }
  });

  it('accepts no control characters in texts, paths and lists', () => {
    for (const control of ['\\n', '\\u0000', '\\u001b', '\\u0085'])
      for (const line of [
        `state_dir = "/some${control}where"`,
        `mail_from = "qmemacct${control}x"`,
        `mail_admins = ["alice", "bob${control}x"]`,
        `request_complex_by_queue = { "big.q" = ["mem_free${control}"] }`,
      ])
        assert.match(problem(line).message, /holds a control character/);
  });

  it('accepts an empty path for an optional file', () => {
    for (const key of ['execd_spool_dir', 'serve_tokens'] as const) {
      for (const value of ['', '/some/where']) assert.equal(parseSettings(`${key} = "${value}"`, PATH)[key], value);
      assert.match(problem(`${key} = "some/where"`).message, /is not an absolute path/);
    }
  });

  it('accepts only known words for scope, grid_engine and serve_names', () => {
    for (const value of ['job', 'node']) assert.equal(parseSettings(`scope = "${value}"`, PATH).scope, value);
    assert.match(problem('scope = "host"').message, /"scope" is none of job, node/);
    assert.equal(parseSettings('grid_engine = "sge8.1.9"', PATH).grid_engine, 'sge8.1.9');
    assert.match(problem('grid_engine = "8.1.9"').message, /"grid_engine" is none of sge6.2, ogs, sge8.1.9, /);
    assert.match(problem('serve_names = "some"').message, /"serve_names" is none of all, anonymous, own/);
  });

  it('accepts for accounting_mode an octal permission to read and write for the owner, to write at most for the group', () => {
    for (const value of ['0640', '640', '0600', '0644', '0660', '0755'])
      assert.equal(parseSettings(`accounting_mode = "${value}"`, PATH).accounting_mode, value);
    for (const value of ['', '64', '0648', '00640', 'rw-r-----', '0x1a0'])
      assert.match(problem(`accounting_mode = "${value}"`).message, /is not an octal permission; write "0640"/);
    for (const value of ['0666', '0777', '642', '0643'])
      assert.match(problem(`accounting_mode = "${value}"`).message, /lets every user write the accounting DB; write/);
    for (const value of ['0444', '0240', '0040', '000', '0540'])
      assert.match(problem(`accounting_mode = "${value}"`).message, /keeps its owner from reading or writing/);
  });

  it('accepts only a valid name of a cluster', () => {
    for (const value of ['', 'p6444', 'Bio_1.main-2', '(run)'])
      assert.equal(parseSettings(`cluster = "${value}"`, PATH).cluster, value);
    for (const value of ['a b/../x', 'Größe', '(x)', '.x', '-x', 'a'.repeat(129)])
      assert.match(problem(`cluster = "${value}"`).message, /"cluster" is not a name of a cluster; begin with/);
  });

  it('accepts only a list of strings for request_complex', () => {
    assert.deepEqual(parseSettings('request_complex = []', PATH).request_complex, []);
    for (const value of ['"h_vmem"', '[1]', '["a", 2]', '{ a = "b" }'])
      assert.match(problem(`request_complex = ${value}`).message, /is not a list of strings/);
  });

  it('refuses unknown keys and names those that were probably meant', () => {
    const error = problem('intervall = 1\ncluster = "x"\n[nodes]\na = 1\n');
    assert.match(error.message, /unknown key "intervall", "nodes"/);
    assert.equal(error.hint, 'did you mean interval?');
    assert.equal(problem('x = 1').hint, 'docs/settings.md lists the keys');
    assert.match(problem('__proto__ = 1').message, /unknown key|not valid/);
    assert.match(problem('toString = 1').message, /unknown key/);
  });

  it('says in one line where the syntax is wrong', () => {
    for (const text of ['interval = ', 'interval 1', '= 1', 'a = "x', 'interval = 1\ninterval = 2']) {
      const { message } = problem(text);
      assert.match(message, /not valid TOML/);
      assert.doesNotMatch(message, /\n/);
    }
    const { message } = problem('cluster = "a"\ninterval = "x\n');
    assert.match(message, /not valid TOML \(line 2, column \d+: [a-z]/);
  });
});

const asRoot = { skip: process.getuid?.() === 0 ? false : 'needs root' };

describe('loadSettings', () => {
  it('reads a file and gives the defaults without one; loadHostSettings requires it', () => {
    const path = join(temporaryDirectory(), 'qmemacct.toml');
    assert.deepEqual(loadSettings(path), DEFAULT_SETTINGS);
    assert.throws(() => loadHostSettings(path), /is missing; put it back/);
    writeFileSync(path, 'mail_from = "Größe"\n');
    assert.equal(loadSettings(path).mail_from, 'Größe');
    assert.equal(loadHostSettings(path).mail_from, 'Größe');
  });

  it(
    'leaves out what root is to run, to believe or to send, with a warning, if others could have written the file',
    asRoot,
    (t) => {
      const path = join(temporaryDirectory(), 'qmemacct.toml');
      const own = temporaryDirectory();
      const foreign = temporaryDirectory();
      chownSync(foreign, 65534, 65534);
      writeFileSync(
        path,
        `admin_user = "bob"\ndeliver_as = "root"\nmail_server = "/usr/bin/mail"\nmail_credentials = "/root/secret"
       state_dir = "${foreign}/state"\nrun_dir = "${own}/run"
       export = [{ name = "a", kind = "otlp", what = "node", address = "https://a/", credentials = "/root/secret" }]
       [sources]\nipmi = { command = "/usr/bin/power", timeout = 7 }
       nvidia = { library = "/home/bob/ml.so", smi = "/home/bob/smi" }\ncpu = { interval = 3 }\n`,
      );
      const log = t.mock.method(process.stderr, 'write', () => true);
      process.env.QMEMACCT_LOG = 'stderr';
      t.after(() => delete process.env.QMEMACCT_LOG);
      assert.equal(loadSettings(path).sources.ipmi?.command, '/usr/bin/power');
      assert.equal(loadSettings(path).state_dir, `${foreign}/state`);
      assert.equal(log.mock.callCount(), 0);
      chmodSync(path, 0o666);
      const { sources, admin_user, deliver_as, mail_server, ...more } = loadHostSettings(path);
      const [warning] = log.mock.calls.map(({ arguments: [line] }) => String(line));
      log.mock.restore();
      assert.deepEqual(sources, { ipmi: { timeout: 7 }, nvidia: {}, cpu: { interval: 3 } });
      assert.deepEqual([admin_user, deliver_as, mail_server], ['', DEFAULT_SETTINGS.deliver_as, '']);
      assert.deepEqual([more.mail_credentials, more.export[0]?.credentials], ['', '']);
      // A directory of root's alone stays.
      assert.deepEqual([more.state_dir, more.run_dir], [DEFAULT_SETTINGS.state_dir, `${own}/run`]);
      assert.match(
        warning ?? '',
        /everyone can write to \S+qmemacct\.toml, so root leaves out the command of \[sources\.ipmi\], the library of .* mail_server, mail_credentials, state_dir;/,
      );
    },
  );

  it('refuses a path that is not a file', () => {
    const path = join(temporaryDirectory(), 'qmemacct.toml');
    mkdirSync(path);
    assert.throws(() => loadSettings(path), /can't be read .*; make it readable/);
  });
});

describe('usableSettings', () => {
  it('are defaults with the directories of the installation, and the problem, if the file is wrong or missing', () => {
    const path = join(temporaryDirectory(), 'qmemacct.toml');
    writeFileSync(path, 'cluster = "a"\n');
    assert.deepEqual(usableSettings(path), { settings: loadSettings(path), problem: null });
    writeFileSync(path, 'cluster = 1\n');
    for (const isMissing of [false, true]) {
      if (isMissing) rmSync(path);
      const { settings, problem } = usableSettings(path, { run_dir: '/run/b' });
      assert.deepEqual(settings, { ...DEFAULT_SETTINGS, run_dir: '/run/b' });
      assert.match(problem ?? '', /qmemacct\.toml/);
    }
  });
});

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { DEBIAN, findClient, withoutScript } from '../../src/gridengine/find-client';
import { temporaryDirectory } from '../support/temporary-directory';

/** Files in Debian's layout; `defaults` is the text of /etc/default/gridengine, null for no such file. */
function packages(defaults: string | null): { readonly client: string; readonly debian: typeof DEBIAN } {
  const directory = temporaryDirectory();
  const at = (name: string): string => join(directory, name);
  const debian = { script: at('wrapper'), defaults: at('defaults'), programs: at('programs') };
  mkdirSync(debian.programs);
  writeFileSync(debian.script, '#!/bin/sh\n', { mode: 0o755 });
  writeFileSync(join(debian.programs, 'qstat'), '#!/bin/sh\n', { mode: 0o755 });
  if (defaults !== null) writeFileSync(debian.defaults, defaults);
  symlinkSync('wrapper', at('qstat'));
  return { client: at('qstat'), debian };
}

describe("Debian's script around a client", () => {
  it('is bypassed where its defaults add nothing to what qmemacct sets', () => {
    const usual = '# A comment; export\n\nSGE_START_EXECD=yes\nSGE_ROOT=/srv/sge\nSGE_ARCH=`"$SGE_ROOT/util/arch"`\n';
    for (const defaults of [null, '', usual]) {
      const { client, debian } = packages(defaults);
      assert.equal(withoutScript(client, 'qstat', debian), join(debian.programs, 'qstat'));
    }
  });

  it('is run where the site has added settings to its defaults, or the program behind it is missing', () => {
    const port = 'SGE_QMASTER_PORT=7000';
    for (const line of [`  export ${port}`, `SGE_CELL=a; export ${port}`, port, '. /srv/sge/settings.sh', 'set -a']) {
      const { client, debian } = packages(`SGE_ROOT=/srv/sge\n${line}\n`);
      assert.equal(withoutScript(client, 'qstat', debian), client, line);
    }
    const { client: other, debian: bare } = packages(null);
    assert.equal(withoutScript(other, 'qhost', bare), other);
  });

  it('is the only file that is bypassed', () => {
    const { client, debian } = packages(null);
    const own = join(temporaryDirectory(), 'qstat');
    writeFileSync(own, '#!/bin/sh\n', { mode: 0o755 });
    assert.equal(withoutScript(own, 'qstat', debian), own);
    assert.equal(withoutScript(join(debian.programs, 'none'), 'qstat', debian), join(debian.programs, 'none'));
    assert.equal(withoutScript(client, 'qconf', debian), client);
  });

  it('is bypassed in the installed package where the cell is known', (t) => {
    if (!existsSync('/usr/bin/qstat') || !existsSync(DEBIAN.script)) {
      t.skip("Debian's gridengine-client is not installed");
      return;
    }
    const cell = { root: '/var/lib/gridengine', cell: 'default', owners: new Set([0]) };
    assert.equal(findClient('qstat', { PATH: '/usr/bin' }, cell), '/usr/lib/gridengine/qstat');
    assert.equal(findClient('qstat', { PATH: '/usr/bin' }, null), '/usr/bin/qstat');
  });
});

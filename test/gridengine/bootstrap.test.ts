import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import fc from 'fast-check';

import { parseBootstrap } from '../../src/gridengine/bootstrap';

/** As Debian's package of 8.1.9 installs it. */
const debian = `Version: 6.2
admin_user              sgeadmin
default_domain          none
ignore_fqdn             false
spooling_method         berkeleydb
spooling_lib            libspoolb
spooling_params         /var/spool/gridengine/spooldb
binary_path             /usr/sbin
qmaster_spool_dir       /var/spool/gridengine/qmaster
security_mode           none
listener_threads        2
worker_threads          2
scheduler_threads       1

`;

describe('parseBootstrap', () => {
  it('reads an installed file', () => {
    const bootstrap = parseBootstrap(debian);
    assert.equal(bootstrap.adminUser, 'sgeadmin');
    assert.equal(bootstrap.version, '6.2');
    assert.equal(bootstrap.values.get('qmaster_spool_dir'), '/var/spool/gridengine/qmaster');
    assert.equal(bootstrap.values.size, 12);
  });

  it('takes none for no admin user, and a comment for a comment', () => {
    assert.equal(parseBootstrap('# Version: 8.1.9\n# admin_user x\nadmin_user NONE\n').adminUser, null);
    assert.equal(parseBootstrap('# Version: 8.1.9\n').version, '8.1.9');
    assert.equal(parseBootstrap('').adminUser, null);
  });

  it('never throws', () => fc.assert(fc.property(fc.string(), (text) => void parseBootstrap(text))));
});

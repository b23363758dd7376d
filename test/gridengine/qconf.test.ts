import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { findQconf } from '../../src/gridengine/qconf';
import { temporaryDirectory } from '../support/temporary-directory';

describe('qconf', () => {
  const put = (script: string): string => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'qconf'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    return directory;
  };

  it('is ended when it has not answered in time, and the error says so', async () => {
    const qconf = findQconf({ PATH: put('exec /bin/sleep 600') }, null, { command_timeout: 0.2 });
    await assert.rejects(
      async () => qconf?.(['-sel']),
      /^Error: qconf did not answer within 0\.2 s and was ended; look whether qmaster is overloaded or its host is down$/,
    );
  });

  it('returns its output whatever its exit status', async () => {
    const qconf = findQconf({ PATH: put('echo "$@"; exit 3') }, null, { command_timeout: 600 });
    assert.deepEqual(await qconf?.(['-sel', 'x']), { status: 3, stdout: '-sel x\n', stderr: '' });
  });
});

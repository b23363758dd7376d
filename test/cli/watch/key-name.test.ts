import assert from 'node:assert/strict';
import { emitKeypressEvents, type Key } from 'node:readline';
import { PassThrough } from 'node:stream';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { keyName } from '../../../src/cli/watch/tty';

/** The names of the keys that a terminal sends as these bytes. */
async function typed(bytes: string): Promise<readonly (string | null)[]> {
  const stream = new PassThrough();
  const names: (string | null)[] = [];
  emitKeypressEvents(stream);
  stream.on('keypress', (text: string | undefined, key: Key) => names.push(keyName(text, key)));
  stream.write(bytes);
  await setImmediate();
  return names;
}

describe('keyName', () => {
  it('names the keys that terminals send', async () => {
    assert.deepEqual(await typed('qS/?ü日'), ['q', 'S', '/', '?', 'ü', '日']);
    assert.deepEqual(await typed('\u001b[A\u001b[B\u001bOA\u001b[5~\u001b[6~'), [
      'up',
      'down',
      'up',
      'pageup',
      'pagedown',
    ]);
    assert.deepEqual(await typed('\u001b[H\u001b[F\u001b[1~\u001b[4~'), ['home', 'end', 'home', 'end']);
    assert.deepEqual(await typed('\r\n\t\u007f\u0008'), ['enter', 'enter', 'tab', 'backspace', 'backspace']);
    assert.deepEqual(await typed('\u0003\u000c\u0015\u001a'), ['ctrl-c', 'ctrl-l', 'ctrl-u', 'ctrl-z']);
    assert.deepEqual(await typed(' *,.'), [' ', '*', ',', '.']);
  });

  it('returns null for other keys', async () => {
    assert.deepEqual(await typed('\u0001\u0000\u001b[15~'), [null, null, null]);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import fc from 'fast-check';

import { firstLine, soundsLikeGridEngine } from '../../src/gridengine/said';
import { anyCharacter } from '../support/any-character';

describe('firstLine', () => {
  it('returns the first line that is not blank, without control characters', () => {
    assert.equal(firstLine('\n \r\n error: \u001b[31mno\u0007\tqmaster\nmore'), 'error:  [31mno  qmaster');
    assert.equal(firstLine(' \n\t'), null);
    assert.equal(firstLine(''), null);
  });

  it('returns a short line without control characters for any text', () => {
    assert.equal(firstLine('x'.repeat(10_000))?.length, 403);
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (text) => {
        const line = firstLine(text);
        assert.ok(line === null || (line.length > 0 && line.length <= 403));
        // eslint-disable-next-line no-control-regex -- the characters that the line may not contain
        assert.doesNotMatch(line ?? '', /[\u0000-\u001f\u007f-\u009f]/);
      }),
    );
  });
});

describe('soundsLikeGridEngine', () => {
  it('recognises errors and versions of Grid Engine', () => {
    for (const line of [
      'error: commlib error: got select error (Connection refused)',
      'error: unable to contact qmaster using port 6444 on host "master"',
      'denied: host "login1" is neither submit nor admin host',
      'critical error: Please set the environment variable SGE_ROOT.',
      'Please set the environment variable SGE_ROOT.',
      'SGE 8.1.9',
      'OCS 9.2.0',
      'Unable to initialize environment because of error: range_list containes no elements',
      'qstat: command line is wrong',
    ]) {
      assert.equal(soundsLikeGridEngine(line), true, line);
    }
  });

  it('is false for other lines', () => {
    for (const line of ['-bash: qstats: command not found', 'Last login: Mon', 'Job id  Name  User', '1']) {
      assert.equal(soundsLikeGridEngine(line), false, line);
    }
  });
});

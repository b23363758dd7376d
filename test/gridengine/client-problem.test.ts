import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { clientProblem, isUnreachable, startProblem, type ClientEnding } from '../../src/gridengine/client-problem';
import { anyCharacter } from '../support/any-character';

const SUCCESS: ClientEnding = {
  end: { state: 'complete', said: null, dialect: 'sge8.1.9', unknownJobs: [] },
  status: 0,
  signal: null,
  stderr: '',
  stopped: null,
  timeoutMs: 30_000,
};

const ending = (state: ClientEnding['end']['state'], more: Partial<ClientEnding> = {}): ClientEnding => ({
  ...SUCCESS,
  ...more,
  end: { ...SUCCESS.end, state, ...more.end },
});

describe('the problem of a client', () => {
  it('is null where the document is whole, or where all jobs have ended', () => {
    assert.equal(clientProblem('qstat', ending('complete', { status: 1, stderr: 'warning: commlib error' })), null);
    const ended = { state: 'refused', said: null, dialect: 'sge8.1.9', unknownJobs: ['7'] } as const;
    assert.equal(clientProblem('qstat', { ...SUCCESS, end: ended }), null);
  });

  it('has a cause and a fix for errors as 8.1.9 prints them', () => {
    const said: readonly (readonly [string, RegExp])[] = [
      [
        'error: commlib error: got select error (Connection refused)\nerror: unable to send message to qmaster using port 6444 on host "ge0": got send error',
        /^qmaster does not answer \(qstat: commlib error: .*\); look whether sge_qmaster runs/,
      ],
      [
        'denied: host "ge2" is neither submit nor admin host',
        /^Grid Engine denies this host \(.*\); ask on a submit host/,
      ],
      [
        'error: commlib error: access denied (client IP resolved to host name "a". This is not identical to clients host name "b")',
        /names of hosts do not agree.*fix \/etc\/hosts/,
      ],
      ['error: no cell directory', /^qstat says: no cell directory; try it by hand$/],
    ];
    for (const [stderr, problem] of said) {
      const failed = ending('empty', { status: 1, stderr });
      assert.match(clientProblem('qstat', failed) ?? '', problem);
      assert.equal(isUnreachable(failed), true);
    }
  });

  it('is one line without control characters, whatever the client printed', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('truncated' as const, 'empty' as const, 'refused' as const, 'foreign' as const),
        fc.string({ unit: anyCharacter, maxLength: 500 }),
        fc.option(fc.string({ unit: anyCharacter, maxLength: 500 }), { nil: null }),
        (state, stderr, said) => {
          const problem = clientProblem('qhost', ending(state, { stderr, end: { ...SUCCESS.end, state, said } }));
          assert.ok(problem !== null && problem.length > 10 && problem.length < 800);
          assert.doesNotMatch(problem, /[\p{Cc}\u2028\u2029]/u);
        },
      ),
    );
  });

  it('names the cause where the client could not be started', () => {
    assert.match(startProblem('qstat', null, undefined), /is not found; put Grid Engine's commands into PATH/);
    assert.match(startProblem('qstat', '/x/qstat', 'EACCES'), /^\/x\/qstat can't be executed/);
    assert.match(startProblem('qstat', '/x/qstat', 'EAGAIN'), /too many processes/);
    assert.match(startProblem('qstat', '/x/qstat', 'EIO'), /\(EIO\)/);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { LONGEST_SCRIPT, programDigest, scriptCopy } from '../../src/gridengine/program';
import { anyCharacter } from '../support/any-character';

const ofScript = (text: string, directory: string | null = null): string | null =>
  programDigest({ script: Buffer.from(text) }, directory);
const ofCommand = (command: string, directory: string | null = null): string | null =>
  programDigest({ command }, directory);

describe('programDigest', () => {
  it('is the FNV-1a hash of the program and that of its directory', () => {
    // The published vectors of "" and "foobar".
    assert.equal(ofCommand(''), '811c9dc5');
    assert.equal(ofCommand('foobar', ''), 'bf9cf968.811c9dc5');
    assert.equal(ofScript('#!/bin/sh\n#$ -N x\n\n'), '811c9dc5');
  });

  it('is the same for programs that differ only in numbers, decimal or hexadecimal', () => {
    assert.equal(ofCommand('./run7.sh', '/data/s1'), ofCommand('./run812.sh', '/data/s22'));
    assert.equal(ofScript('cd work/3f/a01b99\nsim 1.5\n'), ofScript('cd work/c7/99dedd0\nsim 22.75\n'));
    assert.notEqual(ofScript('sim --fast\n'), ofScript('sim --slow\n'));
    assert.notEqual(ofCommand('sim', '/data/a'), ofCommand('sim', '/data/b'));
  });

  it('does not depend on options, comments and empty lines of a script', () => {
    const plain = ofScript('module load sim\nsim "$1"\n');
    assert.equal(ofScript('#!/bin/bash\n#$ -l h_vmem=4G\n\nmodule load sim\n# the second step\nsim "$1"'), plain);
    assert.notEqual(ofScript('module load sim\nsim "$1" # fast\n'), plain);
    assert.notEqual(ofScript('sim "$1"\nmodule load sim\n'), plain);
  });

  it('depends on the bytes of a script, whatever its encoding', () => {
    const cafe = (byte: number): string | null => programDigest({ script: Buffer.from([0x63, 0x61, byte]) }, null);
    assert.notEqual(cafe(0xe9), cafe(0xe8));
  });

  it('is null for a script that is too long', () => {
    assert.equal(ofScript('x'.repeat(LONGEST_SCRIPT + 1)), null);
    assert.notEqual(ofScript('x'.repeat(LONGEST_SCRIPT)), null);
  });

  it('is short, and does not depend on numbers, for any text', () => {
    const text = fc.string({ unit: anyCharacter, maxLength: 200 });
    fc.assert(
      fc.property(text, text, fc.nat(), fc.nat(), (before, after, a, b) => {
        const withNumber = (number: number): string => `${before}x${number}x${after}`;
        assert.equal(ofScript(withNumber(a), withNumber(a)), ofScript(withNumber(b), withNumber(b)));
        assert.equal(ofCommand(withNumber(a)), ofCommand(withNumber(b)));
        assert.match(ofScript(before, after) ?? '', /^[0-9a-f]{8}\.[0-9a-f]{8}$/);
      }),
    );
  });
});

describe('scriptCopy', () => {
  it('is the path in job_scripts beside active_jobs', () => {
    assert.equal(scriptCopy('/spool/ge1/active_jobs/1516.3'), '/spool/ge1/job_scripts/1516');
  });
});

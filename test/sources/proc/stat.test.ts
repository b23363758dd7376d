import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseStat, type Stat } from '../../../src/sources/proc/stat';
import { fixture, garbage, inUsedBuffer, KERNEL_THREAD, KERNELS, prefixes, PROCESS, ZOMBIE } from './fixtures';

function parsed(text: Buffer | string): Stat {
  const stat = parseStat(...inUsedBuffer(text));
  assert.ok(stat !== null);
  return stat;
}

const REST =
  ' S 4241 4241 4241 0 -1 4194304 12345 678 9 1 4321 210 77 11 20 0 1 0 361931 3133440 388 18446744073709551615' +
  ' 1 2 3 0 0 0 0 0 0 1 0 0 17 0 0 0 0 0 0 5 6 7 8 9 9 9 0\n';

function isSound(stat: Stat | null): boolean {
  if (stat === null) return true;
  const { comm, state, forkedNoExec, ...numbers } = stat;
  return (
    typeof comm === 'string' &&
    state.length === 1 &&
    typeof forkedNoExec === 'boolean' &&
    Object.values(numbers).every((value) => !Number.isNaN(value))
  );
}

describe('parseStat', () => {
  it('reads the fields that the sampler needs, on every kernel', () => {
    const commands = { '3.10': 'python', '4.18': 'tmux: server', '5.14': 'a) R 1 (b', '6.1': 'Größe µ', '6.18': 'cat' };
    for (const kernel of KERNELS) {
      const { startTicks, image, ...stat } = parsed(fixture(kernel, PROCESS, 'stat'));
      assert.deepEqual(stat, {
        comm: commands[kernel],
        state: 'S',
        ppid: 4241,
        forkedNoExec: false,
        exiting: false,
        minorFaults: 12345,
        childMinorFaults: 678,
        cpuTicks: 4531,
        childCpuTicks: 88,
        threads: kernel === '3.10' || kernel === '5.14' ? 8 : 1,
      });
      assert.ok(startTicks > 0);
      assert.equal(image, 140729103765056 + 140729103768036 * 0.5);
    }
  });

  it('reads a start of years after boot', () => {
    assert.equal(parsed(fixture('5.14', PROCESS, 'stat')).startTicks, 99999999999);
  });

  it('recognises a zombie that never executed anything', () => {
    for (const kernel of KERNELS) {
      const stat = parsed(fixture(kernel, ZOMBIE, 'stat'));
      assert.equal(stat.state, 'Z');
      assert.equal(stat.forkedNoExec, true);
      assert.equal(stat.image, 0);
    }
  });

  it('reads a kernel thread', () => {
    for (const kernel of KERNELS) {
      const stat = parsed(fixture(kernel, KERNEL_THREAD, 'stat'));
      assert.equal(stat.comm, 'kthreadd');
      assert.equal(stat.ppid, 0);
      assert.equal(stat.threads, 1);
    }
  });

  it('reads any command: blanks, parentheses, newlines, foreign bytes', () => {
    for (const comm of ['', ' ', ')', '(', ')) Z 1 (', 'a\nb', ') S 1 1 1 1 1 1 1', '日本語', '(sd-pam)'])
      assert.deepEqual({ ...parsed(`17 (${comm})${REST}`), comm: '' }, { ...parsed(`17 (x)${REST}`), comm: '' }, comm);
    assert.equal(parsed(`17 (a\nb)${REST}`).comm, 'a\nb');
    const foreign = parsed(Buffer.concat([Buffer.from('17 ('), Buffer.from([0xff, 0xfe]), Buffer.from(`)${REST}`)]));
    assert.equal(foreign.comm, '\uFFFD\uFFFD');
    assert.equal(foreign.ppid, 4241);
  });

  it('has no image without the right to see addresses, nor where the line is older and shorter', () => {
    const fields = REST.trim().split(' ');
    const hidden = fields.map((field, index) => (index === 25 || index >= 42 ? '0' : field));
    assert.equal(parsed(`17 (x) ${hidden.join(' ')}\n`).image, 0);
    assert.equal(parsed(`17 (x) ${fields.slice(0, 25).join(' ')}\n`).image, 0);
  });

  it('changes its image with the stack and with the arguments', () => {
    const at = (stack: number, argument: number): number =>
      parsed(`17 (x)${REST.replace(' 1 2 3 0 ', ` 1 2 ${stack} 0 `).replace(' 8 9 9 9 0', ` ${argument} 9 9 9 0`)}`)
        .image;
    const here = at(140729103765056, 140729103768036);
    assert.equal(at(140729103765056, 140729103768036), here);
    assert.notEqual(at(140729103765072, 140729103768036), here);
    assert.notEqual(at(140729103765056, 140729103768037), here);
  });

  it('reads a negative number', () => {
    assert.equal(parsed(`17 (x)${REST.replace(' 4241 4241 4241 ', ' -1 4241 4241 ')}`).ppid, -1);
  });

  it('returns null for a text that is cut before the start time', () => {
    const text = fixture('6.18', PROCESS, 'stat');
    const start = text.indexOf(' 361931 ');
    for (const cut of prefixes(text).slice(0, start + 1)) assert.equal(parseStat(...inUsedBuffer(cut)), null);
    for (const cut of prefixes(text)) assert.ok(isSound(parseStat(...inUsedBuffer(cut))));
  });

  it('yields numbers or null from garbage', () => {
    fc.assert(
      fc.property(garbage(...KERNELS.map((kernel) => fixture(kernel, PROCESS, 'stat'))), (bytes) =>
        isSound(parseStat(...inUsedBuffer(bytes))),
      ),
    );
  });
});

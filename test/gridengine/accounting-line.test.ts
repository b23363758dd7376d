import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import fc from 'fast-check';

import { accountingReader, isProblem, type AccountingRecord } from '../../src/gridengine/accounting-line';
import { parseAccountingLine } from './parse-accounting-line';
import { plainAccountingLine } from './plain-accounting-line';
import { anyCharacter } from '../support/any-character';

const head = 'all.q:ge1:users:alice:run.sh:1516:sge:0:1763700000:1763700012:1763700075:100:137:63:12.345678:0.250000:';
const rusage = '315172.000000:0:0:0:0:80211:3:0:128.000000:16:0:0:0:210:95:';
const middle = 'NONE:defaultdepartment:smp:2:0:12.595678:3.750000:0.015625:';
const tail = ':0.000000:NONE:322961408.000000:0:0';
const classic = (category = '-l h_vmem=1G -pe smp 2'): string => `${head}${rusage}${middle}${category}${tail}`;

function parsed(line: string): AccountingRecord {
  const result = parseAccountingLine(line);
  assert.ok(result.ok, result.ok ? '' : result.error.detail);
  return result.value;
}

function kind(line: string): string {
  const result = parseAccountingLine(line);
  return result.ok ? 'record' : result.error.kind;
}

describe('parseAccountingLine', () => {
  it('reads the 45 fields of 8.1.9', () => {
    assert.equal(classic().split(':').length, 45);
    assert.deepEqual(parsed(classic()), {
      queue: 'all.q',
      host: 'ge1',
      owner: 'alice',
      jobName: 'run.sh',
      jobId: 1516,
      account: 'sge',
      submissionTimeMs: 1763700000000,
      startTimeMs: 1763700012000,
      endTimeMs: 1763700075000,
      failed: 100,
      exitStatus: 137,
      wallclockSeconds: 63,
      userSeconds: 12.345678,
      systemSeconds: 0.25,
      maxrssBytes: 315172 * 1024,
      project: null,
      pe: 'smp',
      slots: 2,
      task: 0,
      cpuSeconds: 12.595678,
      memGibSeconds: 3.75,
      ioGib: 0.015625,
      category: '-l h_vmem=1G -pe smp 2',
      peTaskId: null,
      maxvmemBytes: 322961408,
      jobMaxrssBytes: null,
      submitCommand: null,
      deletedBy: null,
    });
  });

  it('reads a line that a running 8.1.9 wrote', () => {
    const killed =
      'all.q:gex:nogroup:nobody:killed:6:sge:0:1795248478:1795248478:1795248478:100:137:0:0.004520:0.003293:4580.000000:' +
      '0:0:0:0:538:0:0:0.000000:16:0:0:0:5:8:NONE:defaultdepartment:NONE:1:0:0.007813:0.000000:0.000000:NONE:0.000000:NONE:' +
      '0.000000:0:0';
    const record = parsed(killed);
    assert.deepEqual([record.failed, record.exitStatus, record.pe, record.category], [100, 137, null, null]);
    assert.deepEqual([record.maxrssBytes, record.maxvmemBytes], [4580 * 1024, 0]);
  });

  it('finds the end of a category with colons', () => {
    const category = '-u alice -l h_rt=24:00:00,h_vmem=1G -q a:b';
    const record = parsed(classic(category));
    assert.equal(record.category, category);
    assert.equal(record.maxvmemBytes, 322961408);
    const long = `-l arch=lx-amd64|${':'.repeat(100_000)}`;
    assert.deepEqual([parsed(classic(long)).category, parsed(classic(long)).maxvmemBytes], [long, 322961408]);
    assert.equal(parsed(classic(category)).category, category);
  });

  it('reads the older and the Univa layouts', () => {
    const ends = (line: string): readonly unknown[] => {
      const { category, maxvmemBytes, deletedBy } = parsed(line);
      return [category, maxvmemBytes, deletedBy];
    };
    const [category, maxvmem] = ends(classic());
    assert.deepEqual(ends(classic().replace(/:0:0$/, '')), [category, maxvmem, null]);
    assert.deepEqual(ends(`${classic()}:NONE`), [category, maxvmem, null]);
    const inMs = (category?: string): string => classic(category).replace(/(17637000\d\d)/g, '$1123');
    const univa = ':NONE:root@login1,bob@login1:315172000.000000:300000.000000:login1:/home/alice:qsub run.sh';
    const record = parsed(inMs() + univa);
    assert.equal(record.startTimeMs, 1763700012123);
    assert.equal(record.category, category);
    assert.equal(record.deletedBy, 'root@login1,bob@login1');
    assert.equal(record.jobMaxrssBytes, 315172000);
    const longer = [':63.500000', ':63.500000:12.000000'];
    for (const more of [...longer, `${longer[1]}:NONE`, `${longer[1]}${':NONE'.repeat(20)}`])
      assert.deepEqual(ends(`${inMs('-l h_rt=1:0:0')}${univa}${more}`), ['-l h_rt=1:0:0', maxvmem, record.deletedBy]);
    // Univa's layout with times in seconds, as some converters write it.
    assert.deepEqual(ends(`${classic()}${univa}${longer[1]}`), [category, maxvmem, record.deletedBy]);
  });

  it('reads a negative priority, an unsigned number of 64 bits', () => {
    assert.deepEqual(parsed(classic().replace(':sge:0:', ':sge:18446744073709551606:')), parsed(classic()));
  });

  it('reads a job that never started and a PE task', () => {
    const failed = parsed(classic().replace(':1763700012:1763700075:', ':0:0:'));
    assert.deepEqual([failed.startTimeMs, failed.endTimeMs], [null, null]);
    assert.equal(parsed(classic().replace(':NONE:322', ':1.ge2:322')).peTaskId, '1.ge2');
    assert.equal(parsed(classic().replace(/^all.q:ge1/, 'UNKNOWN:(null)')).host, '(null)');
  });

  it('skips comments and empty lines, as qacct does', () => {
    for (const line of ['', 'x', '# Version: 8.1.9', '#']) assert.equal(kind(line), 'no-record');
  });

  it('refuses lines cut short, shifted or mangled', () => {
    for (let length = 2; length < `${head}${rusage}${middle}`.length; length += 7) {
      assert.equal(kind(classic().slice(0, length)), 'malformed');
    }
    assert.equal(kind(classic().replace('all.q:', '')), 'malformed');
    assert.equal(kind(classic().replace(':1516:', ':x:')), 'malformed');
    assert.equal(kind(':'.repeat(60)), 'malformed');
  });

  it('names the job whose request has a line feed', () => {
    for (const category of ['-l arch=lx|x', '-l h_rt=24:00:00 -q all.q|x', '-q a:b:c:d:e:f:g:h']) {
      const result = parseAccountingLine(`${head}${rusage}${middle}${category}`);
      assert.deepEqual(result.ok ? null : result.error, {
        kind: 'split',
        detail:
          'cut by a line feed in the request of job 1516 of alice (the next lines may be forged), or of an unknown form',
      });
    }
    assert.equal(kind(`y${tail}`), 'malformed');
    assert.equal(kind(`x\0${classic()}`), 'malformed');
  });

  it('keeps every category, and never throws', () => {
    const text = fc.string({ minLength: 1 }).filter((category) => category !== 'NONE');
    fc.assert(fc.property(text, (category) => assert.equal(parsed(classic(category)).category, category)));
    fc.assert(fc.property(fc.string(), (line) => void parseAccountingLine(line)));
  });

  it('reads a name as UTF-8 where it is valid UTF-8, else as Latin-1', () => {
    const read = accountingReader();
    const bytes = Buffer.from(classic().replace('run.sh', 'M\u00fcller'), 'latin1');
    const record = read(bytes, 0, bytes.length);
    assert.ok(!isProblem(record));
    assert.equal(record.jobName, 'M\u00fcller');
    const utf8 = Buffer.from(classic().replace('run.sh', 'M\u00fcller'), 'utf8');
    const other = read(utf8, 0, utf8.length);
    assert.ok(!isProblem(other));
    assert.equal(other.jobName, 'M\u00fcller');
  });

  it('agrees with a plain reader, on lines of many kinds and on garbage', () => {
    const read = accountingReader();
    const digits = fc.oneof(
      fc.nat().map(String),
      fc.double({ min: 0, max: 1e12, noNaN: true }).map((value) => value.toFixed(6)),
      fc.constantFrom(
        '0',
        '-1',
        '18446744073709551606',
        '4294967295',
        '1763700012',
        '1763700012123',
        '1763700012123456',
      ),
      fc.constantFrom(
        '1e5',
        '1.',
        '.5',
        '',
        '-',
        '+1',
        '00012',
        '12345678901234567.25',
        '1.5E-3',
        ' 1',
        '4294967296.000000',
      ),
    );
    const word = fc.oneof(
      fc.constantFrom(
        'NONE',
        '',
        'all.q',
        '1.ge2',
        '2.10.0.0.5',
        'h_rt=1:0:0',
        '(null)',
        '-l a=1:2:3,b=0.0:NONE:1:0:0',
      ),
      fc.string({ maxLength: 8 }),
      fc.string({ unit: anyCharacter, maxLength: 4 }),
    );
    const usual = classic().split(':');
    const univa = 'NONE:NONE:315172.000000:300000.000000:login1:/home/alice:qsub run.sh:63.5:12.0'.split(':');
    const line = fc
      .record({
        length: fc.constantFrom(0, 1, 7, 8, 9, 10, 29),
        changes: fc.array(fc.tuple(fc.nat({ max: 80 }), fc.oneof(digits, word)), { maxLength: 4 }),
        cut: fc.option(fc.nat({ max: 80 }), { freq: 8 }),
      })
      .map(({ length, changes, cut }) => {
        const fields = [...usual, ...univa, ...Array<string>(20).fill('NONE')].slice(0, 45 + length);
        for (const [at, value] of changes) if (at < fields.length) fields[at] = value;
        return fields.slice(0, cut ?? fields.length).join(':');
      });
    fc.assert(
      fc.property(fc.oneof(line, line, fc.string(), fc.string({ unit: anyCharacter })), (text) => {
        const bytes = Buffer.from(`x${text}y`);
        const result = read(bytes, 1, bytes.length - 1);
        const plain = plainAccountingLine(bytes.subarray(1, bytes.length - 1).toString('latin1'));
        if (text.startsWith('{')) return;
        assert.deepEqual(isProblem(result) ? result.kind : result, plain);
      }),
      { numRuns: 2000 },
    );
  });
});

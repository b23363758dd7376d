import assert from 'node:assert/strict';
import { appendFileSync, copyFileSync, readFileSync, renameSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { HistoryStore } from '../../../src/accounting/history-store';
import { importFile, type ImportedSums, type ImportStore } from '../../../src/accounting/import/import-file';
import { importFiles } from '../../../src/accounting/import/import-files';
import { openSqliteHistory } from '../../../src/accounting/sqlite/sqlite-history';
import { failedLine, sampleLine, sampleLines } from './sample-lines';
import { temporaryDirectory } from '../../support/temporary-directory';

const HEADER = '# Version: 8.1.9\n#\n# DO NOT MODIFY THIS FILE MANUALLY!\n#\n';

interface ImportSite {
  readonly directory: string;
  readonly file: string;
  readonly store: HistoryStore;
  readonly importNext: (path?: string, batchLines?: number) => Promise<ImportedSums>;
  readonly count: () => Promise<number>;
}

/** Runs `body` with a new store and the path of an accounting file. */
async function withSite(body: (site: ImportSite) => Promise<void>): Promise<void> {
  const directory = temporaryDirectory();
  const store = openSqliteHistory(join(directory, 'accounting.db'), 0o600);
  const file = join(directory, 'accounting');
  try {
    await body({
      directory,
      file,
      store,
      importNext: (path = file, batchLines = 7) => importFile(path, store, { cluster: 'cell', batchLines }),
      count: async () => (await store.records({ since: 0, until: 1e13, limit: 1 })).totals.records,
    });
  } finally {
    await store.close();
  }
}

function assertAdded(sums: ImportedSums, added: number): void {
  assert.equal(sums.problem, null);
  assert.deepEqual([sums.added, sums.joined, sums.unchanged, sums.unreadable], [added, 0, 0, 0]);
}

describe('importFile', () => {
  it('imports only new lines', () =>
    withSite(async ({ file, importNext, count }) => {
      writeFileSync(file, HEADER + sampleLines(1, 30));
      assertAdded(await importNext(), 30);
      assertAdded(await importNext(), 0);
      appendFileSync(file, sampleLines(31, 5));
      assertAdded(await importNext(), 5);
      assert.equal(await count(), 35);
    }));

  it('recognises a file that was short and has grown', () =>
    withSite(async ({ file, importNext, store, count }) => {
      writeFileSync(file, HEADER);
      assertAdded(await importNext(), 0);
      for (let job = 1; job <= 30; job++) {
        appendFileSync(file, sampleLine(job));
        assertAdded(await importNext(), 1);
      }
      assert.equal((await store.importedFiles()).length, 1);
      assert.equal(await count(), 30);
    }));

  it('leaves an incomplete last line for the next import', () =>
    withSite(async ({ file, importNext, count }) => {
      const last = sampleLine(11);
      writeFileSync(file, sampleLines(1, 10) + last.slice(0, 100));
      assertAdded(await importNext(), 10);
      appendFileSync(file, last.slice(100, 200));
      assertAdded(await importNext(), 0);
      appendFileSync(file, last.slice(200));
      assertAdded(await importNext(), 1);
      assert.equal(await count(), 11);
    }));

  it('counts each line once after a rotation by rename, by copy and truncation, and by compression', () =>
    withSite(async ({ directory, file, importNext, store, count }) => {
      const old = join(directory, 'accounting.0');
      writeFileSync(file, HEADER + sampleLines(1, 40));
      assertAdded(await importNext(), 40);
      appendFileSync(file, sampleLines(41, 3));
      renameSync(file, old);
      writeFileSync(file, HEADER + sampleLines(44, 4));
      assertAdded(await importNext(), 4);
      assertAdded(await importNext(old), 3);

      const copy = join(directory, 'accounting.1');
      appendFileSync(file, sampleLines(48, 50));
      copyFileSync(file, copy);
      truncateSync(file, 0);
      assertAdded(await importNext(), 0);
      appendFileSync(file, HEADER + sampleLines(98, 2));
      assertAdded(await importNext(), 2);
      assertAdded(await importNext(copy), 50);

      const packed = join(directory, 'accounting-20261121.gz');
      appendFileSync(file, sampleLines(100, 60));
      writeFileSync(packed, gzipSync(HEADER + sampleLines(98, 62)));
      truncateSync(file, 0);
      assertAdded(await importNext(packed), 60);
      assertAdded(await importNext(packed), 0);
      assert.equal((await store.importedFiles()).length, 5);
      assert.equal(await count(), 159);
    }));

  it('counts each try of a job that never started once, in however many files its line is', () =>
    withSite(async ({ directory, file, importNext, store, count }) => {
      const part = (first: number): string =>
        `${sampleLine(first)}${failedLine(900)}${failedLine(900)}${sampleLine(first + 1)}`;
      const parts = [part(1), part(11) + failedLine(900), failedLine(900) + part(21)];
      const write = (name: string, text: string): string => {
        const path = join(directory, name);
        writeFileSync(path, text);
        return path;
      };
      // Import pieces in batches of two lines, through two rotations.
      for (const [index, text] of parts.entries()) {
        writeFileSync(file, '');
        let end = 0;
        for (const line of text.split(/(?<=\n)/)) {
          appendFileSync(file, line);
          end += line.length;
          if (end % 3 > 0) assert.equal((await importNext(file, 2)).problem, null);
        }
        await importNext(file, 2);
        renameSync(file, join(directory, `accounting.${index}`));
      }
      const tries = async (): Promise<number> => (await store.job({ job_id: 900, all: true })).records.length;
      assert.deepEqual([await tries(), await count()], [8, 14]);
      // One file with all lines, and one without the beginning. The new record: the first try of the third part had no
      // line before it in its own file, and so another place.
      const all = write('all', HEADER + parts.join(''));
      assertAdded({ ...(await importNext(all)), unchanged: 0 }, 1);
      const cut = write('cut', parts.join('').slice(sampleLine(1).length + 2 * failedLine(900).length));
      assertAdded({ ...(await importNext(cut)), unchanged: 0 }, 0);
      assert.deepEqual([await tries(), await count()], [9, 15]);
    }));

  it('counts a job that never started once, even if its file was short and began with its lines', () =>
    withSite(async ({ directory, file, importNext, store, count }) => {
      writeFileSync(file, HEADER + failedLine(900) + failedLine(900) + sampleLine(1));
      assertAdded(await importNext(), 3);
      appendFileSync(file, sampleLines(2, 40));
      assertAdded(await importNext(), 40);
      const edited = join(directory, 'edited');
      writeFileSync(edited, HEADER + failedLine(900) + failedLine(900) + sampleLines(1, 30) + sampleLines(51, 2));
      assertAdded({ ...(await importNext(edited)), unchanged: 0 }, 2);
      assert.deepEqual([(await store.job({ job_id: 900, all: true })).records.length, await count()], [2, 45]);
    }));

  it("counts each line once in both formats of Open Cluster Scheduler's file", () =>
    withSite(async ({ directory, file, importNext, store, count }) => {
      const common = { owner: 'alice', group: 'users', account: 'sge', qname: 'all.q', hostname: 'ge1', slots: 1 };
      const json = (job: number, start: number, more: object): string =>
        `${JSON.stringify({
          ...{ job_number: job, task_number: 0, ...common, job_name: 'run.sh', priority: 0, category: '-l h_vmem=1G' },
          ...{ submission_time: (1_763_700_000 + start) * 1e6 + 12, exit_status: 0, usage: { rusage: {}, usage: {} } },
          ...more,
        })}\n`;
      const started = (job: number): string => {
        const start = 1_763_700_000 + job;
        return json(job, job - 5, { start_time: start * 1e6 + 999_999, end_time: (start + 60) * 1e6 + 5, failed: 0 });
      };
      const failed = json(900, 0, { start_time: 0, end_time: 0, failed: 26 });
      writeFileSync(file, sampleLine(1) + failedLine(900) + failedLine(900) + sampleLine(2) + failedLine(900));
      const other = join(directory, 'accounting.jsonl');
      writeFileSync(other, started(1) + failed + failed + started(2) + failed);
      assertAdded(await importNext(), 5);
      const { added, unreadable, joined, unchanged } = await importNext(other);
      assert.deepEqual([added, unreadable, joined + unchanged], [0, 0, 5]);
      assert.deepEqual([(await store.job({ job_id: 900, all: true })).records.length, await count()], [3, 5]);
    }));

  it('importFiles imports several files in any order', () =>
    withSite(async ({ directory, store, count }) => {
      const paths = [2, 0, 1].map((part) => {
        const path = join(directory, `accounting.${part}`);
        writeFileSync(path, sampleLines(1 + 100 * part, 100));
        return path;
      });
      const outcome = await importFiles([...paths, ...paths, join(directory, 'gone')], store, { cluster: 'cell' });
      assert.equal(outcome.added, 300);
      assert.equal(outcome.problems.size, 1);
      assert.match([...outcome.problems.values()][0] ?? '', /gone can't be read: it does not exist/);
      assert.equal(await count(), 300);
    }));

  /** Asserts that a file was read again from its beginning, with so many new and known lines. */
  const assertReadAgain = (sums: ImportedSums, added: number, known: number): void =>
    assert.deepEqual([sums.problem, sums.added, sums.joined, sums.unchanged], [null, added, 0, known]);

  it('loses no line of a file that was edited, shortened or extended', () =>
    withSite(async ({ file, importNext, count }) => {
      const edit = (change: (lines: string[]) => readonly string[]): void =>
        writeFileSync(file, change(readFileSync(file, 'utf8').split(/(?<=\n)/)).join(''));
      writeFileSync(file, HEADER + sampleLines(1, 100));
      assertAdded(await importNext(), 100);
      // Without one of the lines behind 4 of the header; then 3 new lines.
      edit((lines) => lines.toSpliced(53, 1));
      appendFileSync(file, sampleLines(101, 3));
      assertReadAgain(await importNext(), 3, 99);
      assertAdded(await importNext(), 0);
      edit((lines) => lines.slice(0, 40));
      appendFileSync(file, sampleLines(104, 300));
      assertReadAgain(await importNext(), 300, 36);
      appendFileSync(file, sampleLine(404));
      assertAdded(await importNext(), 1);
      edit((lines) => [...lines.slice(0, 60), sampleLine(405), ...lines.slice(60)]);
      assertReadAgain(await importNext(), 1, 337);
      // As long as before, with other last lines.
      edit((lines) => [...lines.slice(0, -2), sampleLine(406), sampleLine(407)]);
      assertReadAgain(await importNext(), 2, 336);
      assert.equal(await count(), 407);
    }));

  it('refuses a file for a second cluster, unless the cluster was renamed', () =>
    withSite(async ({ directory, file, store, importNext, count }) => {
      const importAs = (cluster: string, renames: boolean, path = file): Promise<ImportedSums> =>
        importFile(path, store, { cluster, renames });
      const refused = (cluster: string, path?: string): Promise<void> =>
        assert.rejects(importAs(cluster, false, path), { name: 'UserError', status: 2 });
      // Grid Engine's files all begin with the same comments.
      writeFileSync(file, HEADER);
      await importNext();
      assertAdded(await importAs('third', false), 0);
      writeFileSync(file, HEADER + sampleLine(1));
      assertAdded(await importNext(), 1);
      await refused('new');
      appendFileSync(file, sampleLines(2, 29));
      assertAdded(await importNext(), 29);
      const packed = join(directory, 'accounting.1.gz');
      writeFileSync(packed, gzipSync(HEADER + sampleLines(1, 30)));
      await refused('new', packed);
      const edited = join(directory, 'edited');
      writeFileSync(edited, HEADER + sampleLines(1, 20) + sampleLines(22, 20));
      await refused('new', edited);

      assertAdded(await importAs('new', true, packed), 0);
      appendFileSync(file, sampleLine(31));
      assertAdded(await importAs('new', false), 1);
      await refused('cell');
      assert.equal(await count(), 31);
    }));

  it('loses no line of a compressed file whose beginning was edited', () =>
    withSite(async ({ directory, file, importNext, count }) => {
      writeFileSync(file, sampleLines(1, 100));
      assertAdded(await importNext(), 100);
      const packed = join(directory, 'accounting.1.gz');
      writeFileSync(packed, gzipSync(sampleLines(1, 49) + sampleLines(51, 60)));
      assertReadAgain(await importNext(packed), 10, 99);
      assertAdded(await importNext(packed), 0);
      assert.equal(await count(), 110);
    }));

  it('adds nothing from an older copy, and follows each copy by itself afterwards', () =>
    withSite(async ({ directory, file, store, importNext, count }) => {
      const copies = [12, 60].map((lines) => {
        const copy = join(directory, `accounting.${lines}`);
        writeFileSync(copy, sampleLines(1, lines));
        return copy;
      });
      writeFileSync(file, sampleLines(1, 70));
      assertAdded(await importNext(), 70);
      for (const copy of copies) assertReadAgain(await importNext(copy), 0, copy.endsWith('12') ? 12 : 48);
      // From now on only new lines of each file are read.
      for (let night = 0; night < 3; night++) {
        appendFileSync(file, sampleLine(71 + night));
        for (const path of [...copies, file]) {
          const { lines, problem } = await importNext(path);
          assert.deepEqual([lines, problem], [path === file ? 1 : 0, null]);
        }
      }
      assert.equal((await store.importedFiles()).length, 3);
      assert.equal(await count(), 73);
    }));

  it('imports a damaged file up to the damage, and reports it', () =>
    withSite(async ({ directory, importNext, count }) => {
      const packed = join(directory, 'broken.gz');
      const whole = gzipSync(sampleLines(1000, 20_000));
      writeFileSync(packed, whole.subarray(0, whole.length / 2));
      const broken = await importNext(packed, 1000);
      assert.match(broken.problem ?? '', /could not be read to its end: it is damaged/);
      assert.ok(broken.added > 100);
      assert.equal(await count(), broken.added);
    }));

  it('keeps nothing of a file that is not one of accounting, or that it can not decompress', () =>
    withSite(async ({ directory, store, importNext, count }) => {
      const write = (bytes: string): string => {
        const path = join(directory, 'other');
        writeFileSync(path, bytes, 'latin1');
        return path;
      };
      for (const [begin, unpacker] of [
        ['\xfd7zXZ\0', 'xz'],
        ['BZh91AY&SY', 'bzip2'],
        ['\x28\xb5\x2f\xfd', 'zstd'],
      ] as const) {
        const { problem, lines } = await importNext(write(`${begin}\n\x01\x02\n`));
        assert.match(
          problem ?? '',
          new RegExp(`other can't be read: it is compressed by ${unpacker}, .*"${unpacker} -dk`),
        );
        assert.equal(lines, 0);
      }
      const { problem, lines, unreadable } = await importNext(write('SQLite format 3\0\n\x01\x02\n'));
      assert.match(problem ?? '', /none of its first 2 lines is one of Grid Engine's accounting \(a zero byte\), and/);
      assert.deepEqual([lines, unreadable, await count()], [0, 0, 0]);
      assert.deepEqual(await store.unreadableLines('cell', 9), []);
      assert.deepEqual(await store.importedFiles(), []);
      // Line feeds in a user's field can't make the file look like another kind of file.
      const split = sampleLine(1).replace(/(:-l [^:]*).*/s, '$1|x\nxx\nxx\n');
      const begun = await importNext(write(split));
      assert.deepEqual([begun.problem, begun.lines, begun.unreadable], [null, 3, 3]);
      // In an unknown format no line counts as read.
      const unknown = await importNext(write([1, 2, 3].map((job) => sampleLine(job).replace(/\n/, ':x:y\n')).join('')));
      assert.match(unknown.problem ?? '', /none of its first 3 lines is one .* or of an unknown form\), and nothing/);
    }));

  it('reads a large compressed file to its end', () =>
    withSite(async ({ directory, importNext, count }) => {
      const packed = join(directory, 'long.gz');
      writeFileSync(packed, gzipSync(sampleLines(1, 10_000), { level: 0 }));
      assertAdded(await importNext(packed, 2000), 10_000);
      assert.equal(await count(), 10_000);
    }));

  it('sets unreadable lines aside unchanged, with the reason', () =>
    withSite(async ({ file, store, importNext, count }) => {
      const lines = [
        sampleLine(1),
        'garbage\n',
        sampleLine(2),
        sampleLine(3).replace(':3:sge', ':x:sge'),
        `${'\0'.repeat(300)}${sampleLine(4)}`,
        `${'x'.repeat(3 << 20)}\n`,
        '\n',
        'x\n',
        sampleLine(5).replace(':0:0:60:', ':0:4294967295:60:'),
        `{"job_number":6}\n`,
        Buffer.from(sampleLine(7).replace('run.sh', 'M\u00fcller'), 'latin1').toString('latin1'),
      ];
      writeFileSync(file, lines.join(''), 'latin1');
      const sums = await importNext();
      assert.equal(sums.problem, null);
      assert.deepEqual([sums.lines, sums.added, sums.unreadable], [11, 3, 6]);
      assert.equal(sums.firstUnreadable?.offset, sampleLine(1).length);
      const kept = await store.unreadableLines('cell', 100);
      assert.deepEqual(
        kept.map(({ reason }) => reason),
        [
          '1 fields, a record has at least 43',
          'field 6 is not a number',
          'a zero byte',
          'longer than 1048576 bytes',
          'an intermediate record of a job that ran on, as only the reporting file has them',
          'no owner',
        ],
      );
      assert.deepEqual(
        kept.map(({ offset, text }) => lines.join('').slice(offset, offset + Math.min(20, text.length))),
        kept.map(({ text }) => text.slice(0, 20)),
      );
      assert.equal((await store.job({ job_id: 7 })).records[0]?.record.job_name, 'M\u00fcller');
      assert.equal(await count(), 3);
    }));

  it('counts each line once with several importers at the same time', () =>
    withSite(async ({ directory, file, store, count }) => {
      writeFileSync(file, HEADER + sampleLines(1, 200));
      const others = [1, 2, 3].map(() => openSqliteHistory(join(directory, 'accounting.db'), 0o600));
      const all: readonly ImportStore[] = [store, ...others];
      const sums = await Promise.all(all.map((one) => importFile(file, one, { cluster: 'cell', batchLines: 9 })));
      assert.equal(
        sums.reduce((sum, { added }) => sum + added, 0),
        200,
      );
      assert.deepEqual(
        sums.map(({ problem }) => problem),
        [null, null, null, null],
      );
      for (const other of others) await other.close();
      assert.equal(await count(), 200);
    }));

  it('goes on where an aborted import stopped', () =>
    withSite(async ({ file, store, importNext, count }) => {
      writeFileSync(file, sampleLines(1, 200));
      const stop = new AbortController();
      const first = await importFile(file, store, {
        cluster: 'cell',
        batchLines: 20,
        signal: stop.signal,
        onProgress: ({ lines }) => {
          if (lines >= 60) stop.abort();
        },
      });
      assert.equal(first.added, 60);
      assertAdded(await importNext(), 140);
      assert.equal(await count(), 200);
    }));
});

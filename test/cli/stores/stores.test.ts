import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { openReader } from '../../../src/accounting/open-store';
import { openSqliteStore } from '../../../src/accounting/sqlite/sqlite-store';
import type { AccountingReader } from '../../../src/accounting/store';
import { StoreError } from '../../../src/accounting/store-error';
import { DEFAULT_SETTINGS } from '../../../src/record/settings';
import type { JobRecord } from '../../../src/record/record';
import type { GridEngineStore } from '../../../src/cli/stores/grid-engine-store';
import { LIST_FIELDS } from '../../../src/report/records/list';
import { memoryReader } from '../../accounting/memory-reader';
import { temporaryStore } from '../../accounting/temporary-store';
import { ordinary } from '../../report/sample-records';
import {
  chooseStores,
  commandStores,
  noStoreMessage,
  openStores,
  ownStorePath,
  type OpenStores,
  withSiteStore,
} from '../../../src/cli/stores/stores';
import { temporaryDirectory } from '../../support/temporary-directory';

const directory = temporaryDirectory();
const present = join(directory, 'present.db');
writeFileSync(present, '');
const absent = join(directory, 'absent.db');

const reader = {} as AccountingReader;

describe('ownStorePath', () => {
  it('follows the XDG base directories', () => {
    assert.equal(ownStorePath({ HOME: '/home/bob' }), '/home/bob/.local/state/qmemacct/accounting.db');
    assert.equal(ownStorePath({ HOME: '/home/bob', XDG_STATE_HOME: '/s' }), '/s/qmemacct/accounting.db');
    assert.equal(
      ownStorePath({ HOME: '/home/bob', XDG_STATE_HOME: 's' }),
      '/home/bob/.local/state/qmemacct/accounting.db',
    );
  });

  it('is in the home directory of the password database where HOME is no path', () => {
    const { homedir } = userInfo();
    for (const HOME of ['', 'home', undefined])
      assert.equal(ownStorePath({ HOME }), join(homedir, '.local/state/qmemacct/accounting.db'));
  });
});

describe('chooseStores', () => {
  it("chooses the store that is given, else the site's and the user's own", () => {
    assert.deepEqual(chooseStores('/x.db', '/site.db', {}), [{ path: '/x.db', whose: 'given' }]);
    assert.deepEqual(chooseStores(undefined, '/site.db', { HOME: '/h' }), [
      { path: '/site.db', whose: 'site' },
      { path: '/h/.local/state/qmemacct/accounting.db', whose: 'own' },
    ]);
  });

  it('chooses no store twice', () => {
    const own = ownStorePath({ HOME: '/h' });
    assert.deepEqual(chooseStores(undefined, own, { HOME: '/h' }), [{ path: own, whose: 'site' }]);
  });
});

describe('openStores', () => {
  const choices = [
    { path: present, whose: 'site' },
    { path: absent, whose: 'own' },
  ] as const;

  it('skips a store that does not exist', async () => {
    const stores = await openStores(choices, () => reader);
    assert.deepEqual(stores, { readers: [reader], own: null, opened: [present], problems: [], missing: [absent] });
  });

  it('says in one line why a store cannot be read, and opens the others', async () => {
    const both = [choices[0], { path: present, whose: 'own' }] as const;
    let calls = 0;
    const stores = await openStores(both, () => {
      calls += 1;
      if (calls === 1) throw Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' });
      return reader;
    });
    assert.equal(stores.readers.length, 1);
    assert.deepEqual(stores.problems, [
      `the site's accounting DB ${present} can't be read: permission denied; ask an admin to add you to the group of the file, or for "accounting_mode" 0644`,
    ]);
  });

  it('keeps the problem and the fix of a StoreError', async () => {
    const stores = await openStores([choices[0]], () => {
      throw new StoreError(present, 'is not a database', 'restore it', false);
    });
    assert.equal(
      noStoreMessage(stores),
      `the site's accounting DB ${present} can't be read: is not a database; restore it`,
    );
  });

  it('says which store is missing where there is none', async () => {
    const stores = await openStores([choices[1]], () => reader);
    assert.match(noStoreMessage(stores), /absent\.db does not exist; it comes with the first job/);
  });

  it("asks the site's server where the site's store cannot be read or is not on this host", async () => {
    const denied = (): never => {
      throw Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' });
    };
    const remote = {} as AccountingReader;
    const server = { cluster: 'default', socket: '/s', ask: () => Promise.resolve(remote) };
    const byServer = (path: string): string => `${path} by "qmemacct serve" at /s`;
    const unreadable = await openStores([choices[0]], denied, server);
    assert.deepEqual(unreadable, {
      readers: [remote],
      own: null,
      opened: [byServer(present)],
      problems: [],
      missing: [],
    });
    const notHere = await openStores([{ path: absent, whose: 'site' }], () => reader, server);
    assert.deepEqual(notHere, { readers: [remote], own: null, opened: [byServer(absent)], problems: [], missing: [] });
  });

  it("counts self-reported records in the user's own store, and in no other", async () => {
    const asked: (boolean | undefined)[] = [];
    const empty = memoryReader([]);
    const counting: AccountingReader = {
      ...empty,
      records: (query) => {
        asked.push(query.self_reported);
        return empty.records(query);
      },
    };
    for (const whose of ['own', 'site', 'given'] as const) {
      const stores = await openStores([{ path: present, whose }], () => counting);
      await stores.readers[0]?.records({ since: 0, until: 1 });
    }
    assert.deepEqual(asked, [true, undefined, undefined]);
  });

  it("leaves out of the user's own store jobs of the site's cluster beside the site's DB: they would count twice", async () => {
    const path = temporaryStore();
    const store = openSqliteStore(path, 0o600);
    await store.merge([ordinary, { ...ordinary, cluster: '(run)', job_id: 7 }]);
    await store.close();
    const numbers = async (
      choices: Parameters<typeof openStores>[0],
      cluster: string,
      of?: string,
    ): Promise<unknown> => {
      const open = (one: string) => (one === path ? openReader(one) : memoryReader([]));
      const site = { cluster, socket: '', ask: () => Promise.reject(new Error('no server')) };
      const { readers, own } = await openStores(choices, open, site);
      if (own === null) return assert.fail();
      const filter = { since: 0, until: Date.parse('2100-01-01'), ...(of === undefined ? {} : { cluster: of }) };
      const { records } = await own.records({ ...filter, limit: 50 });
      const named = await own.jobs([ordinary.job_id, 7]);
      const numbered = await own.job({ job_id: ordinary.job_id, all: true });
      assert.equal(numbered.records.length, named.filter(({ record }) => record.job_id !== 7).length);
      await Promise.all(readers.map((one) => one.close()));
      return [records, named].map((found) => found.map(({ record }) => record.job_id).sort((a, b) => a - b));
    };
    const own = { path, whose: 'own' } as const;
    const both = [{ path: present, whose: 'site' } as const, own];
    const all = [7, ordinary.job_id];
    assert.deepEqual(await numbers([own], ordinary.cluster), [all, all]);
    assert.deepEqual(await numbers(both, 'another'), [all, all]);
    assert.deepEqual(await numbers(both, ordinary.cluster), [[7], [7]]);
    assert.deepEqual(await numbers(both, ordinary.cluster, ordinary.cluster), [[], [7]]);
  });

  it('counts self-reported records alike in the lines of jobs and in the records of a store', async () => {
    const path = temporaryStore();
    const store = openSqliteStore(path, 0o600);
    await store.merge([{ ...ordinary, trust: 'self-reported' }]);
    await store.close();
    const query = { since: 0, until: Date.parse('2100-01-01') };
    const wanted = { jobs: 50, waits: true, least: 500, limit: 1000, fields: LIST_FIELDS };
    for (const [whose, records] of [
      ['own', 1],
      ['site', 0],
    ] as const) {
      const { readers } = await openStores([{ path, whose }], (one) => openReader(one));
      const [opened = assert.fail()] = readers;
      const lines = await opened.jobLines?.(query, wanted);
      const { totals } = await opened.records(query);
      assert.deepEqual([lines?.lines.length, lines?.totals, totals.records], [1, totals, records]);
      await opened.close();
    }
    const { readers } = await openStores([{ path, whose: 'own' }], () => memoryReader([]));
    assert.equal(await readers[0]?.jobLines?.(query, wanted), null);
  });

  it("asks no server for the user's own store, or for one that was given", async () => {
    const server = { cluster: 'default', socket: '/s', ask: () => assert.fail('asked') };
    for (const whose of ['own', 'given'] as const) {
      const stores = await openStores([{ path: absent, whose }], () => reader, server);
      assert.deepEqual([stores.readers, stores.opened], [[], []]);
      assert.deepEqual([stores.problems.length, stores.missing], whose === 'own' ? [0, [absent]] : [1, []]);
    }
    assert.deepEqual((await openStores([choices[0]], () => reader, server)).opened, [present]);
  });

  it('says why the server did not help', async () => {
    const here = [choices[0]] as const;
    const broken = (): never => {
      throw new StoreError(present, 'is not a database', 'restore it', false);
    };
    const fails = (error: Error) => ({ cluster: 'default', socket: '/s', ask: () => Promise.reject(error) });
    const noSocket = Object.assign(new Error('ENOENT'), { code: 'ENOENT' });
    const message = async (error: Error): Promise<string> =>
      noStoreMessage(await openStores(here, broken, fails(error)));
    const head = `the site's accounting DB ${present} can't be read: is not a database; restore it;`;
    assert.equal(await message(noSocket), `${head} no "qmemacct serve" at /s answers for it`);
    assert.equal(
      await message(new Error('it closed the connection')),
      `${head} "qmemacct serve" at /s does not answer for it: it closed the connection`,
    );
    assert.equal(
      await message(new StoreError('the server', 'it is locked', 'wait', true)),
      `${head} "qmemacct serve" at /s can't read it: it is locked`,
    );
    const absentAlone = await openStores([{ path: absent, whose: 'site' }], () => reader, fails(noSocket));
    assert.deepEqual([absentAlone.problems, absentAlone.missing], [[], [absent]]);
  });
});

describe('commandStores', () => {
  const home = temporaryDirectory();
  const own = ownStorePath({ HOME: home });
  mkdirSync(dirname(own), { recursive: true });
  writeFileSync(own, '');
  const settings = { ...DEFAULT_SETTINGS, accounting: absent, serve_socket: join(directory, 'none.sock') };
  const missed = `the site's accounting DB ${absent} is not on this host`;
  const gridEngineReader = { name: 'grid engine' } as unknown as AccountingReader;
  const open = (
    given: string | undefined,
    cluster: string,
    gridEngine: () => Promise<GridEngineStore>,
  ): Promise<OpenStores> =>
    commandStores(
      given,
      settings,
      { env: { HOME: home } },
      {
        open: (path) =>
          path === own ? openReaderOf([{ ...ordinary, cluster }]) : Promise.reject(new Error(`not ${path}`)),
        askServer: () => Promise.reject(Object.assign(new Error('none'), { code: 'ENOENT' })),
        gridEngine,
      },
    );
  const openReaderOf = async (records: readonly JobRecord[]): Promise<AccountingReader> =>
    Promise.resolve(memoryReader(records));
  const none = (): Promise<GridEngineStore> => Promise.reject(new Error('no cell'));

  it("opens the site's accounting DB with the site's credentials, and no other", async () => {
    const asked: (readonly string[])[] = [];
    const site = { ...settings, accounting: 'postgres://db/acct', accounting_credentials: '/etc/site.pgpass' };
    const sources = {
      open: (...how: readonly [string, string]) => {
        asked.push(how);
        return openReaderOf([]);
      },
      askServer: () => Promise.reject(new Error('not asked')),
      gridEngine: none,
    };
    for (const given of [undefined, 'postgres://db/acct', 'postgres://elsewhere/acct'])
      await commandStores(given, site, { env: { HOME: directory } }, sources);
    await withSiteStore(site, sources, () => Promise.resolve());
    assert.deepEqual(asked, [
      ['postgres://db/acct', '/etc/site.pgpass'],
      ['postgres://db/acct', '/etc/site.pgpass'],
      ['postgres://elsewhere/acct', ''],
      ['postgres://db/acct', '/etc/site.pgpass'],
    ]);
  });

  it("reports that the site's accounting DB is not on this host, though the caller has one", async () => {
    const stores = await open(undefined, '(run)', none);
    assert.deepEqual([stores.readers.length, stores.problems], [1, [missed]]);
  });

  it("adds Grid Engine's accounting to what the caller has measured, not to what the caller has imported", async () => {
    const found = (): Promise<GridEngineStore> => Promise.resolve({ reader: gridEngineReader, says: 'from the file' });
    const measured = await open(undefined, '(run)', found);
    assert.deepEqual(
      [measured.readers.length, measured.readers[0], measured.problems],
      [2, gridEngineReader, ['from the file']],
    );
    const imported = await open(undefined, 'hpc', found);
    assert.deepEqual([imported.readers.length, imported.problems], [1, [missed]]);
  });

  it("says that Grid Engine's own accounting cannot be read", async () => {
    const denied = Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' });
    const stores = await open(undefined, '(run)', () => Promise.reject(denied));
    assert.match(stores.problems.join(), /is not on this host,Grid Engine's own accounting can't be read: EACCES/);
  });

  it('asks to check a given path where no file is there', async () => {
    const stores = await open(absent, '(run)', none);
    assert.equal(noStoreMessage(stores), `${absent} does not exist; check the path`);
  });
});

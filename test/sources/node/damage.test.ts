import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { battery } from '../../../src/sources/node/battery';
import { cpu } from '../../../src/sources/node/cpu';
import { cpufreq } from '../../../src/sources/node/cpufreq';
import { disk } from '../../../src/sources/node/disk';
import { meminfo } from '../../../src/sources/node/meminfo';
import { mounts } from '../../../src/sources/node/mounts';
import { network } from '../../../src/sources/node/network';
import { numa } from '../../../src/sources/node/numa';
import { pressure } from '../../../src/sources/node/pressure';
import { sockets } from '../../../src/sources/node/sockets';
import { swap } from '../../../src/sources/node/swap';
import { tcpstates } from '../../../src/sources/node/tcpstates';
import { uptime } from '../../../src/sources/node/uptime';
import { users } from '../../../src/sources/node/users';
import { vmstat } from '../../../src/sources/node/vmstat';
import { isUnavailable, type Reading, type Source, type Unavailable } from '../../../src/sources/source';
import { garbage } from '../proc/fixtures';
import { LAYOUTS, layoutRoot, placeAt } from './layouts';
import { unsound } from './tree';
import { temporaryDirectory } from '../../support/temporary-directory';

const SOURCES: readonly Source[] = [
  ...[battery, cpu, cpufreq, disk, meminfo, mounts, network, numa, pressure],
  ...[sockets, swap, tcpstates, uptime, users, vmstat],
];

type Damage = 'garbage' | 'cut' | 'gone' | 'directory';

function damage(file: string, how: Damage, bytes: Buffer, at: number): void {
  const before = readFileSync(file);
  rmSync(file);
  if (how === 'garbage') writeFileSync(file, bytes);
  else if (how === 'cut') writeFileSync(file, before.subarray(0, at % (before.length + 1)));
  else if (how === 'directory') mkdirSync(file);
}

function assertSound(source: Source, readings: readonly Reading[] | Unavailable): void {
  assert.deepEqual(unsound(source, readings), []);
  for (const { metric, value } of isUnavailable(readings) ? [] : readings)
    assert.ok(value >= 0 || metric === 'battery_power_watts', `${metric} ${value}`);
}

describe('sources whose files are damaged', () => {
  for (const layout of LAYOUTS)
    it(`leave out values that make no sense, and say so when nothing is left: ${layout}`, () => {
      const top = temporaryDirectory();
      const files = readdirSync(layoutRoot(layout), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(layoutRoot(layout).length + 1));
      const texts = files.map((file) => readFileSync(join(layoutRoot(layout), file)));
      let run = 0;

      fc.assert(
        fc.property(
          fc.array(
            fc.tuple(
              fc.constantFrom(...files),
              fc.constantFrom<Damage>('garbage', 'cut', 'gone', 'directory'),
              garbage(...texts),
              fc.nat(5000),
            ),
            { minLength: 1, maxLength: 30 },
          ),
          fc.boolean(),
          (damages, isBeforeOpen) => {
            const root = join(top, String(run++));
            cpSync(layoutRoot(layout), root, { recursive: true });
            const apply = (): void => {
              const each = new Map(damages.map((one) => [one[0], one]));
              for (const [file, how, bytes, at] of each.values()) damage(join(root, file), how, bytes, at);
            };
            if (isBeforeOpen) apply();
            const opened = SOURCES.map((source) => [source, source.open(placeAt(root, source))] as const);
            if (!isBeforeOpen) apply();
            for (const [source, open] of opened)
              if (isUnavailable(open)) assertSound(source, open);
              else {
                assertSound(source, open.read());
                open.close();
              }
            rmSync(root, { recursive: true });
          },
        ),
        { numRuns: 25 },
      );
    });

  it('say so when everything has vanished', () => {
    const root = join(temporaryDirectory(), 'tree');
    try {
      cpSync(layoutRoot('linux-3.10'), root, { recursive: true });
      const opened = SOURCES.map((source) => [source.name, source.open(placeAt(root, source))] as const);
      rmSync(root, { recursive: true });
      for (const [name, open] of opened) if (!isUnavailable(open)) assert.ok(isUnavailable(open.read()), name);
      assert.deepEqual(
        opened.flatMap(([name, open]) => (isUnavailable(open) ? [name] : [])),
        ['battery', 'pressure'],
      );
    } finally {
      rmSync(dirname(root), { recursive: true });
    }
  });
});

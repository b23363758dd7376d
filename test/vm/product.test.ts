import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import * as path from 'node:path';
import type { JobRecord } from '../../src/record/record';
import { burner } from '../burners/build';
import { cellTest, ourHook, shellQuoted } from './cell';
import { repositoryRoot } from './repository';
import { temporaryDirectory } from '../support/temporary-directory';

const MIB = 1024 * 1024;

const script = (steady: string): string => `
  qmemacct() { node ${shellQuoted(path.join(repositoryRoot(), 'bin', 'qmemacct'))} "$@"; }
  accounting=/var/lib/qmemacct/accounting/accounting.db
  qmemacct install --node --yes --prefix /opt/qmemacct >"$VM_OUT/install" 2>&1 || { cat "$VM_OUT/install"; exit 1; }
  report() { # NAME JOB
    tries=0
    until qmemacct job "$2" --json --accounting $accounting >"$VM_OUT/$1.json" 2>"$VM_OUT/$1.err"; do
      tries=$((tries + 1))
      [ "$tries" -lt 40 ] || return
      sleep 1
    done
  }

  serial=$(cell_submit -N serial -l h_vmem=1G -b y -shell n ${steady} --mib=120 --hold=15000)
  small=$(cell_submit -N small -l h_vmem=300M -b y -shell n ${steady} --mib=150 --hold=15000)
  samplers() { # COMMAND: with each sampler's directory in /proc
    for pid in /proc/[0-9]*; do
      case $(tr '\\0' ' ' <"$pid/cmdline" 2>/dev/null) in
      *sampler/main.js*) "$@" "$pid" ;;
      esac
    done
  }
  group() { fact "cgroup.\${1#/proc/}" "$(cat "$1/cgroup")"; }
  # Samplers leave execd's group with their first acts, which take seconds in an emulated machine.
  tries=0
  until [ "$(samplers group | grep -c " 0::/qmemacct$")" -ge 2 ] || [ "$tries" -ge 30 ]; do
    tries=$((tries + 1))
    sleep 0.5
  done
  samplers group
  cell_wait "$serial" 120
  cell_wait "$small" 120

  mkdir -p /home/gealice/evil
  for name in node env sh setsid mkdir readlink cat head timeout kill sleep stat id; do
    printf '#!/bin/bash -p\\n/usr/bin/id -u >>/tmp/witness\\n' >/home/gealice/evil/$name
  done
  printf 'require("fs").appendFileSync("/tmp/witness", process.getuid() + "\\\\n")' >/home/gealice/evil/x.js
  chmod -R a+rX /home/gealice/evil
  chmod a+x /home/gealice/evil/*
  : >/tmp/witness
  chmod 666 /tmp/witness
  evil=/home/gealice/evil
  hostile=$(cell_submit -N hostile -l h_vmem=1G -v "PATH=$evil,NODE_OPTIONS=--require=$evil/x.js,BASH_ENV=$evil/x,HOME=$evil,LD_PRELOAD=$evil/x.so" -b y -shell n /bin/sleep 8)
  cell_wait "$hostile" 120

  report serial "$serial"
  report small "$small"
  report hostile "$hostile"
  for name in serial small hostile; do
    eval "job=\\$$name"
    fact "$name.failed" "$(cell_field "$job" failed)"
  done
  fact witness "$(sort -u /tmp/witness | tr '\\n' ' ')"
  fact left "$(ls /var/lib/qmemacct/run | wc -l)"
  cell_problems || true`;

const outDir = temporaryDirectory();

cellTest(
  'jobs are sampled by root in the full mode where limits can be raised, on a machine with cgroup v2',
  () => script(burner('steady')),
  { prolog: ourHook('prolog'), epilog: ourHook('epilog'), outDir },
  ({ facts: found, output }) => {
    const record = (name: string): JobRecord => {
      const { records } = JSON.parse(readFileSync(path.join(outDir, `${name}.json`), 'utf8')) as {
        records: JobRecord[];
      };
      assert.equal(records.length, 1, `${name}: ${records.length} records\n${output}`);
      return records[0] as JobRecord;
    };
    for (const name of ['serial', 'small', 'hostile']) {
      assert.equal(found.get(`${name}.failed`), '0');
      assert.equal(record(name).owner, 'gealice');
      assert.equal(record(name).exit_status, 0);
      assert.equal(record(name).trust, 'root');
      // The sampler's limit was raised, whatever the job requested.
      assert.equal(record(name).sampler?.mode, 'full');
    }
    const expected = { serial: 120 * MIB, small: 150 * MIB } as const;
    for (const [name, least] of Object.entries(expected)) {
      const peak = record(name).peak_rss;
      assert.ok(
        peak !== null && peak.lower_bytes > least * 0.97 && peak.lower_bytes < least + 24 * MIB,
        JSON.stringify(peak),
      );
    }
    // Linux 6.1 counts up to 64 page changes per thread and counter late.
    assert.ok((record('serial').peak_rss?.slack_bytes ?? 0) > 0);
    const cgroups = [...found].filter(([name]) => name.startsWith('cgroup.')).map(([, value]) => value);
    assert.ok(cgroups.length >= 2, 'no sampler was running');
    for (const cgroup of cgroups) assert.equal(cgroup, '0::/qmemacct');
    assert.ok(!(found.get('witness') ?? '').split(' ').includes('0'), 'something of the owner ran as root');
    assert.equal(found.get('left'), '0');
  },
);

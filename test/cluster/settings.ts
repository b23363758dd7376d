import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Daemons } from './daemons';
import { formatSettings, parseSettings } from './formats';
import type { Hosts } from './hosts';
import { client } from './kind';
import type { Layout } from './layout';
import { describeFailure, type CommandResult } from './run';
import { until } from '../support/until';

export type Changes = Readonly<Record<string, string>>;

const sensorName = 'sensor.sh';

/** A load sensor as sge_execd(8) wants it, which makes a file with the name of the host that started it. */
const sensorScript = `#!/bin/sh
: > "$0.$(uname -n)"
while read -r word; do
  [ "$word" = quit ] && exit 0
  echo begin
  echo end
done
`;

/** Reads and changes the configuration of a cell. */
export class Settings {
  private waits = 0;

  constructor(
    private readonly layout: Layout,
    private readonly hosts: Hosts,
    private readonly daemons: Daemons,
  ) {}

  /** Runs qconf on the master as root; any exit status is a result. */
  qconf(args: readonly string[], stdin?: string): Promise<CommandResult> {
    const options = { env: { SGE_SINGLE_LINE: '1' }, ...(stdin === undefined ? {} : { stdin }) };
    return this.hosts.on(this.hosts.master, [client('qconf'), ...args], options);
  }

  /** Runs qconf with a file of this name and content; some options take the file's name as the object's. */
  async qconfFile(option: string, name: string, content: string): Promise<void> {
    mkdirSync(this.layout.configs, { recursive: true });
    const file = join(this.layout.configs, name);
    writeFileSync(file, content);
    const result = await this.qconf([option, file]);
    // Some failures of qconf come with status 0.
    if (result.status !== 0 || !/\b(added|modified|changed)\b/.test(result.stdout + result.stderr)) {
      throw new Error(`${describeFailure(['qconf', option, name], result)}\nthe file was:\n${content}`);
    }
  }

  /** Adds an object, or changes it if an installer has made one of this name. */
  async put(what: 'hgrp' | 'q', name: string, content: string): Promise<void> {
    const exists = (await this.qconf([`-s${what}`, name])).status === 0;
    await this.qconfFile(`${exists ? '-M' : '-A'}${what}`, 'object', content);
  }

  /** The settings that `qconf OPTION [NAME]` shows. */
  async show(option: string, name?: string): Promise<Map<string, string>> {
    const result = await this.qconf([option, ...(name === undefined ? [] : [name])]);
    if (result.status !== 0) throw new Error(describeFailure(['qconf', option, name ?? ''], result));
    return parseSettings(result.stdout);
  }

  /** Changes the global configuration (`global`) or a host's own; see waitForConfig(). */
  async changeConfig(name: string, changes: Changes): Promise<void> {
    // The file replaces the whole configuration: a setting that is missing gets its built-in default.
    await this.qconfFile('-Mconf', name, formatSettings(merge(await this.show('-sconf', name), changes)));
  }

  /** Changes a cluster queue; jobs that start from now on have it. */
  async changeQueue(queue: string, changes: Changes): Promise<void> {
    await this.qconfFile('-Mq', queue, formatSettings(merge(await this.show('-sq', queue), changes)));
  }

  /** Changes one complex attribute, given by its columns: name, shortcut, type, relop ... */
  async changeComplex(columns: readonly [string, ...string[]]): Promise<void> {
    const result = await this.qconf(['-sc']);
    const others = result.stdout
      .split('\n')
      .filter((line) => !/^#|^$/.test(line) && !line.startsWith(`${columns[0]} `));
    await this.qconfFile('-Mc', 'complexes', `${[...others, columns.join(' ')].join('\n')}\n`);
  }

  /**
   * Returns when every running execd works with the configuration as it is now.
   *
   * With each load report (each load_report_time) an execd sends the version of its configuration, and qmaster answers
   * if there is a newer one. Nothing shows that execd has fetched it, except that it then starts a new load sensor. So
   * this configures a new sensor, and waits until each host has started it.
   */
  async waitForConfig(): Promise<void> {
    const before = (await this.show('-sconf', 'global')).get('load_sensor') ?? 'none';
    const sensor = this.makeSensor();
    await this.changeConfig('global', { load_sensor: sensor });
    try {
      await until(
        () => this.hostsWithout(sensor).length === 0,
        () => `the changed configuration in the execd of ${this.hostsWithout(sensor).join(', ')}`,
      );
    } finally {
      await this.changeConfig('global', { load_sensor: before });
    }
  }

  private makeSensor(): string {
    mkdirSync(this.layout.sensors, { recursive: true });
    const script = join(this.layout.sensors, sensorName);
    writeFileSync(script, sensorScript, { mode: 0o755 });
    const sensor = join(this.layout.sensors, `${process.pid}-${Date.now()}-${this.waits++}`);
    rmSync(sensor, { force: true });
    symlinkSync(sensorName, sensor);
    return sensor;
  }

  private hostsWithout(sensor: string): string[] {
    return this.hosts.exec.filter((host) => !existsSync(`${sensor}.${host}`) && this.daemons.execd(host) !== null);
  }
}

function merge(settings: ReadonlyMap<string, string>, changes: Changes): Map<string, string> {
  return new Map([...settings, ...Object.entries(changes)]);
}

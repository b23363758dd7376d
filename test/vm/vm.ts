import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { performance } from 'node:perf_hooks';
import { buildInitramfs } from './initramfs';
import { ensureKernel } from './kernel';
import { repositoryRoot } from './repository';
import { temporaryDirectory } from '../support/temporary-directory';

export interface Disk {
  readonly mib: number;
  /** The most requests that it serves in a second; default unlimited. */
  readonly requestsPerSecond?: number;
}

export interface VmOptions {
  /** Shell script, run by /bin/sh as root. $VM_OUT is a directory shared with the host. */
  readonly script: string;
  /** The machine is ended after this time, boot included. */
  readonly timeoutMs: number;
  /** Memory of the machine; half of it is room for files written in it. Default 3072. */
  readonly memoryMiB?: number;
  /** Whether systemd is the machine's first process, and the script one of its services. */
  readonly systemd?: boolean;
  /** Empty disks: /dev/vda, /dev/vdb and so on. */
  readonly disks?: readonly Disk[];
  /** Directory of the host to share as $VM_OUT, made if missing, kept. Default: one that is removed afterwards. */
  readonly outDir?: string;
}

export interface VmResult {
  /** Exit status of the script. */
  readonly status: number;
  /** What the script printed, to stdout or stderr. */
  readonly output: string;
  /** Output of the kernel and the boot on the serial console. */
  readonly console: string;
  /** Milliseconds from start to power-off. */
  readonly ms: number;
}

const programs = {
  qemu: { file: '/usr/bin/qemu-system-x86_64', packageName: 'qemu-system-x86' },
  busybox: { file: '/bin/busybox', packageName: 'busybox-static' },
  setpriv: { file: '/usr/bin/setpriv', packageName: 'util-linux' },
};

/**
 * Why no test machine can be started here; null: one can. The first call on a computer fetches the kernel (about 70 MB)
 * from Debian's archive.
 */
export function vmObstacle(): string | null {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    return `the test machine is for Linux on x86-64, this is ${process.platform} on ${process.arch}`;
  }
  for (const { file, packageName } of Object.values(programs)) {
    if (!existsSync(file)) return `no ${file}: install the Debian package ${packageName}`;
  }
  if (!isStatic(programs.busybox.file)) {
    return `${programs.busybox.file} needs shared libraries: install the Debian package busybox-static`;
  }
  try {
    ensureKernel();
    return null;
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    return `no kernel for the test machine (it takes apt-get, dpkg, Debian's archive, a recent apt-get update): ${cause}`;
  }
}

/**
 * Boots a Linux 6.1 machine under software emulation, with this computer's file system as a copy-on-write root, runs a
 * script in it and switches it off. Rejects if the machine ends without the script's status or runs out of time. /run is
 * empty in it; later changes on the host may not be visible, except in the shared directory.
 */
export async function runInVm(options: VmOptions): Promise<VmResult> {
  const kernel = ensureKernel();
  const work = temporaryDirectory();

  const shared = options.outDir ?? path.join(work, 'shared');
  mkdirSync(shared, { recursive: true });
  const statusFile = path.join(shared, 'status');
  const outputFile = path.join(shared, 'output.txt');
  rmSync(statusFile, { force: true });
  rmSync(outputFile, { force: true });
  writeFileSync(path.join(shared, 'script.sh'), options.script);

  const initramfs = path.join(work, 'initramfs');
  const init = path.join(repositoryRoot(), 'test', 'vm', 'init.sh');
  writeFileSync(initramfs, buildInitramfs(programs.busybox.file, init, kernel.modules));

  const disks = (options.disks ?? []).map(({ mib, requestsPerSecond = 0 }, index) => {
    const file = path.join(work, `disk-${index}`);
    writeFileSync(file, '');
    truncateSync(file, mib * 1024 * 1024);
    return `file=${file},format=raw,if=virtio,throttling.iops-total=${requestsPerSecond}`;
  });
  const args = [
    ...qemuArguments(kernel.image, initramfs, shared, options),
    ...disks.flatMap((disk) => ['-drive', disk]),
  ];
  const run = await runQemu(args, options.timeoutMs);
  const output = existsSync(outputFile) ? readFileSync(outputFile, 'utf8') : '';
  if (!existsSync(statusFile)) {
    const cause = run.timedOut
      ? `was ended after ${options.timeoutMs} ms: give it more time or look where the script hangs`
      : 'ended without the status of the script: the console tells how far it came';
    throw new Error(`the test machine ${cause}\nconsole: ${tail(run.console)}\nscript's output: ${tail(output)}`);
  }
  return { status: Number(readFileSync(statusFile, 'utf8')), output, console: run.console, ms: run.ms };
}

function qemuArguments(
  image: string,
  initramfs: string,
  shared: string,
  { memoryMiB = 3072, systemd = false }: VmOptions,
): readonly string[] {
  const append = `console=ttyS0 quiet panic=-1 mitigations=off cgroup_no_v1=all${systemd ? ' vm.systemd' : ''}`;
  return [
    ...['-accel', 'tcg,thread=multi', '-cpu', 'max', '-smp', '2', '-m', String(memoryMiB)],
    ...['-display', 'none', '-monitor', 'none', '-serial', 'stdio', '-nic', 'none', '-no-reboot'],
    // "remap" keeps inode numbers apart when the host's tree spans several file systems.
    ...['-fsdev', 'local,id=host,path=/,security_model=none,readonly=on,multidevs=remap'],
    ...['-device', 'virtio-9p-pci,fsdev=host,mount_tag=host'],
    ...['-fsdev', `local,id=shared,path=${shared.replaceAll(',', ',,')},security_model=none`],
    ...['-device', 'virtio-9p-pci,fsdev=shared,mount_tag=shared'],
    ...['-kernel', image, '-initrd', initramfs],
    ...['-append', append],
  ];
}

interface QemuRun {
  readonly console: string;
  readonly timedOut: boolean;
  readonly ms: number;
}

/** Runs the emulator to its end. It ends with this process if that dies before. */
function runQemu(args: readonly string[], timeoutMs: number): Promise<QemuRun> {
  return new Promise((resolve, reject) => {
    const start = performance.now();
    const child = spawn(programs.setpriv.file, ['--pdeathsig', 'KILL', programs.qemu.file, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let console = '';
    let timedOut = false;
    const collect = (chunk: Buffer): void => {
      console += chunk.toString('latin1');
    };
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    const timer = setTimeout(() => {
      timedOut = true;
      child.kill('SIGKILL');
    }, timeoutMs);
    child.once('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.once('close', () => {
      clearTimeout(timer);
      resolve({ console, timedOut, ms: Math.round(performance.now() - start) });
    });
  });
}

/** Whether an x86-64 program runs without a dynamic loader. */
function isStatic(file: string): boolean {
  const elf = readFileSync(file);
  const interpreterSegment = 3;
  const tableOffset = Number(elf.readBigUInt64LE(0x20));
  const entrySize = elf.readUInt16LE(0x36);
  const entries = Array.from({ length: elf.readUInt16LE(0x38) }, (_, index) => tableOffset + index * entrySize);
  return entries.every((offset) => elf.readUInt32LE(offset) !== interpreterSegment);
}

function tail(text: string): string {
  const limit = 4000;
  return text.length > limit ? `...${text.slice(-limit)}` : text;
}

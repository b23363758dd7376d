import { createInterface } from 'node:readline';
import { ProcessFiles } from '../../src/sources/proc/process-files';

/**
 * The sampler's counterpart of read-loop.c: `read-loop.js ROUNDS PID...` reads statm and the memory lines of status of every
 * process ROUNDS times for each line on stdin, and answers with the CPU nanoseconds for one process.
 */
function main(argv: readonly string[]): void {
  const rounds = Number(argv[0]);
  const budget = { left: 4096 };
  const processes = argv.slice(1).map((pid) => new ProcessFiles(Number(pid), budget));
  createInterface({ input: process.stdin }).on('line', () => {
    const before = process.cpuUsage();
    let check = 0;
    for (let round = 0; round < rounds; round++) {
      check = 0;
      for (const files of processes) {
        const statm = files.statm();
        const memory = files.memory();
        if (statm === null || memory === null) throw new Error(`process ${files.pid} has gone`);
        check += statm.resident + memory.vmHwm + memory.vmSwap;
      }
    }
    const { user, system } = process.cpuUsage(before);
    const nanoseconds = ((user + system) * 1000) / (rounds * processes.length);
    process.stdout.write(`${JSON.stringify({ ns: nanoseconds, check })}\n`);
  });
}

main(process.argv.slice(2));

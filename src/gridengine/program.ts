import { basename, dirname, join } from 'node:path';

/** No digest is made of longer scripts. */
export const LONGEST_SCRIPT = 256 * 1024;

/** What a job runs: its script's text, or the command (`-b y`) as it was submitted. */
type Program = { readonly script: Buffer } | { readonly command: string };

/** Makes names that differ in their numbers alike: `run7.sh` and `run8.sh`, also `work/3f/a01b` and `work/c7/99de`. */
const withoutNumbers = (text: string): string => text.replace(/[0-9a-f]+/g, (run) => (/[0-9]/.test(run) ? '#' : run));

/**
 * 32 bits of FNV-1a: enough to keep one user's programs of one name apart, too few to reveal what is in them.
 * node:crypto would cost each sampler 3.5 ms of CPU time and 2.4 MiB.
 */
function digest(bytes: Buffer): string {
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, '0');
}

const digestOf = (text: string): string => digest(Buffer.from(withoutNumbers(text)));

/** Comments and empty lines run nothing; among them are the options (#$), which change with every better request. */
function digestOfScript(script: Buffer): string {
  const lines = script.toString('latin1').split('\n');
  const run = lines.filter((line) => line !== '' && !line.startsWith('#')).map((line) => `${line}\n`);
  return digest(Buffer.from(withoutNumbers(run.join('')), 'latin1'));
}

/**
 * A digest of the program, a point, and a digest of its directory: "8c736521.811c9dc5"; equal where these differ only
 * in numbers (hexadecimal ones, too) or in a script's comments. null: the script is too long. `directory` null: not
 * known. hooks/advise.jsv makes the same digests.
 */
export function programDigest(program: Program, directory: string | null): string | null {
  if ('script' in program && program.script.length > LONGEST_SCRIPT) return null;
  const what = 'script' in program ? digestOfScript(program.script) : digestOf(program.command);
  return directory === null ? what : `${what}.${digestOf(directory)}`;
}

/**
 * Where execd keeps its copy of a job's script: beside active_jobs/JOB.TASK, whatever `config` says, which a user may
 * have forged. The file there may be another job's, or missing.
 */
export function scriptCopy(spool: string): string {
  const [job = ''] = basename(spool).split('.');
  return join(dirname(dirname(spool)), 'job_scripts', job);
}

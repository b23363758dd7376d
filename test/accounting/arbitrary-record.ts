import fc from 'fast-check';
import { emptyRecord } from '../../src/record/record';
import type { Bracket, JobRecord, MemoryRequest } from '../../src/record/record';
import { BRACKET_SOURCES, OPEN_REASONS, OTHER_SERIES, STATUSES, TRUSTS } from '../../src/record/fields';
import { anyCharacter } from '../support/any-character';

/** Random records in their normal form (as `parseRecord` returns them), for property tests. */

/** Objects with a prototype, as those that JSON.parse makes. */
function plain<T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> {
  return fc.record(model, { noNullPrototype: true });
}

const bytes = fc.oneof(
  fc.nat({ max: 2 ** 22 }).map((pages) => pages * 4096),
  fc.maxSafeNat(),
);
const seconds = fc.oneof(fc.nat({ max: 1e9 }), fc.integer({ min: 0, max: 1e15 })).map((ms) => ms / 1000);
const time = fc
  .oneof(fc.integer({ min: 1.6e12, max: 1.9e12 }), fc.integer({ min: 0, max: 253402300799999 }))
  .map((ms) => new Date(ms).toISOString());

const wellFormed = (text: string): string => text.replace(/[\p{Cs}\0]/gu, '?');
const text = fc.oneof(
  fc.constantFrom('bob', 'align.sh', 'all.q', 'a "quoted" name', '\u001b[31mred', "'; DROP TABLE record; --"),
  fc.string({ unit: anyCharacter, maxLength: 40 }).map(wellFormed),
);
const name = text.filter((value) => value !== '');
const orNull = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(value, { freq: 3 });

const subset = <T>(vocabulary: readonly T[]): fc.Arbitrary<readonly T[]> => fc.subarray([...vocabulary]);

const bracket: fc.Arbitrary<Bracket> = plain({
  lower_bytes: bytes,
  width: orNull(bytes),
  slack_bytes: bytes,
  proved: fc.boolean(),
  exact: fc.boolean(),
  open: subset(OPEN_REASONS),
  sources: subset(BRACKET_SOURCES),
  at: orNull(time),
  command: orNull(text),
}).map(({ width, ...rest }) => ({
  ...rest,
  upper_bytes: width === null ? null : Math.min(Number.MAX_SAFE_INTEGER, rest.lower_bytes + width),
}));

const request: fc.Arbitrary<MemoryRequest> = fc.oneof(
  plain({
    request_bytes: orNull(bytes),
    limit_bytes: orNull(bytes),
    per: fc.constantFrom('slot' as const, 'job' as const, 'host' as const),
  }),
  fc
    .nat({ max: 64 })
    .map((gib) => ({ request_bytes: gib * 2 ** 30, limit_bytes: gib * 2 ** 32, per: 'slot' as const })),
);

const complex = fc.constantFrom('s_vmem', 'mem_free', 'virtual_free', 'h_rss', '__proto__', 'constructor', 'scratch');

const metric = fc.constantFrom('rapl_package_joules', 'perf_cycles', 'oom_kills', 'constructor', 'gpu_memory_bytes');
const figure = fc.oneof(
  fc.nat({ max: 1e6 }),
  fc.nat({ max: 1e9 }).map((thousandths) => thousandths / 1000),
  fc.maxSafeInteger().map((value) => value + 0),
  fc.double({ min: -1e30, max: 1e30, noNaN: true }).map((value) => value + 0),
);
const metrics = fc
  .array(fc.tuple(metric, figure), { maxLength: 4 })
  .map((entries): JobRecord['metrics'] => Object.fromEntries(entries));

const others = fc.dictionary(
  fc.constantFrom(...Object.keys(OTHER_SERIES)),
  fc.array(fc.double({ min: 0, max: 1e12, noNaN: true }), { maxLength: 240 }),
  { noNullPrototype: true },
);

const someNotes = fc.oneof(
  text,
  fc.nat().map((ms) => `the first ${ms} ms were not sampled`),
  fc.constantFrom('007 and 12345678901234567890', 'a\u0001b 5', '', '0', '1.5 GiB of 10%'),
);

/** A random record; with few `keys` many records have the same key. */
export function arbitraryRecord(shape: { readonly keys?: number } = {}): fc.Arbitrary<JobRecord> {
  const keys = shape.keys ?? 1e6;
  return plain({
    key: plain({
      cluster: keys < 10 ? fc.constant('cell') : name,
      job_id: keys < 10 ? fc.integer({ min: 1, max: keys }) : fc.integer({ min: 1, max: 9999999 }),
      task_id: keys < 10 ? fc.constant(null) : orNull(fc.integer({ min: 1, max: 75000 })),
      pe_task_id: keys < 10 ? fc.constant(null) : orNull(name),
      host: keys < 10 ? fc.constant('node1') : name,
      run_id:
        keys < 10
          ? fc.constant('0badcafe.4711.123456')
          : fc.oneof(
              name,
              fc
                .tuple(fc.nat(), fc.nat({ max: 4194304 }), fc.nat())
                .map(([boot, pid, start]) => `${boot.toString(16).padStart(8, '0')}.${pid}.${start}`),
            ),
    }),
    status: fc.constantFrom(...STATUSES),
    trust: fc.constantFrom(...TRUSTS),
    revision: keys < 10 ? fc.nat({ max: 4 }) : fc.integer({ min: 0, max: 2e12 }),
    fields: plain({
      owner: orNull(text),
      job_name: orNull(text),
      queue: orNull(text),
      project: orNull(text),
      pe: orNull(text),
      account: orNull(text),
      program: orNull(text),
      slots: orNull(fc.nat({ max: 512 })),
      host_slots: orNull(fc.nat({ max: 64 })),
      granted_hosts: orNull(fc.array(plain({ host: name, slots: fc.nat({ max: 512 }) }), { maxLength: 5 })),
      submitted_at: orNull(time),
      started_at: orNull(time),
      ended_at: orNull(time),
      exit_status: orNull(fc.integer({ min: -1, max: 255 })),
      signal: orNull(fc.nat({ max: 64 })),
      failed: orNull(fc.nat({ max: 100 })),
      h_vmem: orNull(request),
      requests: fc.array(fc.tuple(complex, request), { maxLength: 4 }).map((entries) => Object.fromEntries(entries)),
      request_order: orNull(fc.constantFrom('mem_free', 'h_rss,h_vmem', 'site_mem,mem_free')),
      peak_rss: orNull(bracket),
      peak_rss_swap: orNull(bracket),
      peak_vmem: orNull(bracket),
      peak_process_vmem: orNull(bracket),
      peak_footprint: orNull(bracket),
      wallclock_seconds: orNull(seconds),
      cpu_seconds: orNull(seconds),
      processes: orNull(fc.nat()),
      max_processes: orNull(fc.nat()),
      max_threads: orNull(fc.nat()),
      read_bytes: orNull(bytes),
      written_bytes: orNull(bytes),
      read_chars: orNull(bytes),
      written_chars: orNull(bytes),
      claimed_by_tree_only: orNull(fc.nat()),
      claimed_by_group_only: orNull(fc.nat()),
      samples: orNull(fc.nat()),
      interval_seconds: orNull(seconds),
      longest_gap_seconds: orNull(seconds),
      unobserved_start_seconds: orNull(seconds),
      rss_byte_seconds: orNull(
        fc.oneof(
          bytes,
          fc.double({ min: 0, max: 1e30, noNaN: true }).map((v) => v + 0),
        ),
      ),
      grid_engine: orNull(
        plain({
          wallclock_seconds: seconds,
          cpu_seconds: seconds,
          user_seconds: orNull(seconds),
          system_seconds: orNull(seconds),
          maxvmem_bytes: orNull(fc.nat()),
          maxrss_bytes: orNull(fc.nat()),
          mem_gib_seconds: orNull(seconds),
          io_gib: orNull(seconds),
          category: orNull(text),
          submit_command: orNull(text),
          deleted_by: orNull(text),
          lines: fc.integer({ min: 1, max: 99 }),
        }),
      ),
      sampler: orNull(
        plain({
          cpu_seconds: seconds,
          max_rss_bytes: bytes,
          mode: fc.constantFrom('full' as const, 'small' as const),
        }),
      ),
      metrics,
      series: orNull(
        plain({ start: time, step_seconds: seconds, rss_bytes: fc.array(bytes, { maxLength: 240 }), others }),
      ),
      notes: fc.array(someNotes, { maxLength: 3 }),
    }),
  }).map(({ key, status, trust, revision, fields }) => ({ ...emptyRecord(key, status, trust, revision), ...fields }));
}

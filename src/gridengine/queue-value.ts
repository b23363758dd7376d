import { failure, success, type Result } from '../base/result';

export interface QueueOverride {
  /** A host's name, or a host group's beginning with `@`. */
  readonly host: string;
  readonly value: string;
}

/** A value in queue_conf(5): for all hosts, and what differs for some. */
export interface QueueValue {
  /** Null where there are only overrides, which qmaster refuses for a new queue. */
  readonly value: string | null;
  readonly overrides: readonly QueueOverride[];
}

/**
 * Reads `value,[host=value],[@group=value]`. As for Grid Engine (libs/sgeobj/sge_attr.c) only `[` separates: values may
 * hold commas, blanks, `=` and `]`, but no `[`. Fails where Grid Engine would: a missing comma, bracket or equals sign.
 */
export function parseQueueValue(text: string): Result<QueueValue> {
  const [head = '', ...bracketed] = text.split('[');
  const overrides: QueueOverride[] = [];
  for (const [index, part] of bracketed.entries()) {
    const isLast = index === bracketed.length - 1;
    const body = withoutEnd(part.trim(), isLast ? null : ',')?.trimEnd();
    const inner = body === undefined ? null : withoutEnd(body, ']');
    const equals = inner?.indexOf('=') ?? -1;
    if (inner === null || equals <= 0) return failure(`${JSON.stringify(`[${part}`)} is not [host=value]`);
    overrides.push({ host: inner.slice(0, equals), value: inner.slice(equals + 1) });
  }
  if (head.trim() === '') {
    return bracketed.length === 0 ? failure('the value is empty') : success({ value: null, overrides });
  }
  const value = withoutEnd(head.trim(), bracketed.length === 0 ? null : ',')?.trimEnd();
  if (value === undefined) return failure(`no comma before the first "[" in ${JSON.stringify(text)}`);
  if (/[,\]]$/.test(value)) return failure(`${JSON.stringify(value)} ends in a comma or bracket`);
  return success({ value, overrides });
}

/** The text for qconf. Fails if a value holds `[` or a host's name is not valid. */
export function formatQueueValue({ value, overrides }: QueueValue): Result<string> {
  const values = [...(value === null ? [] : [value]), ...overrides.map((override) => override.value)];
  if (values.some((one) => /[[\n]/.test(one))) return failure('a queue value can not hold "[" or a newline');
  if (value !== null && (value.trim() === '' || /[,\]]\s*$/.test(value)))
    return failure('the default value is malformed');
  if (overrides.some(({ host }) => !/^@?[^\s@[\]=,]+$/.test(host)))
    return failure('an override needs a host or @group');
  const parts = [...(value === null ? [] : [value]), ...overrides.map(({ host, value: own }) => `[${host}=${own}]`)];
  return parts.length === 0 ? failure('no value at all') : success(parts.join(','));
}

/**
 * The values that a host may get, by queue_conf(5): its own override, else those of its groups, else the default. With
 * more than one, which differ, the queue is in state "configuration ambiguous".
 */
export function queueValuesFor(queueValue: QueueValue, host: string, groups: readonly string[]): readonly string[] {
  const own = queueValue.overrides.filter((override) => override.host.toLowerCase() === host.toLowerCase());
  const group = queueValue.overrides.filter((override) => groups.includes(override.host));
  const chosen = own.length > 0 ? own : group;
  if (chosen.length > 0) return [...new Set(chosen.map((override) => override.value))];
  return queueValue.value === null ? [] : [queueValue.value];
}

function withoutEnd(text: string, end: string | null): string | null {
  if (end === null) return text;
  return text.endsWith(end) ? text.slice(0, -end.length) : null;
}

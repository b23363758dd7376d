import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { reasonOf } from '../../base/user-error';
import { parseRules, SEVERITIES, type Rule } from './rule';
import { SHIPPED_RULES } from './shipped';

/** The rules in force. */
export interface RuleSet {
  /** Worst first. */
  readonly rules: readonly Rule[];
  /** Digest of the rules' texts: runs with the same version were judged by the same rules. */
  readonly version: string;
  /** Why the site's own rules are left out; null: they are not. */
  readonly problem: string | null;
}

const bySeverity = (a: Rule, b: Rule): number => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity);

function ruleSet(site: string, metrics: readonly string[] | undefined, path: string): RuleSet {
  const shipped = parseRules(SHIPPED_RULES);
  if (!shipped.ok) throw new Error(`shipped rules: ${shipped.error.join('; ')}`);
  const own = parseRules(site, metrics);
  const replaced = new Set(own.ok ? [...own.value.off, ...own.value.rules.map(({ name }) => name)] : []);
  const rules = [...shipped.value.rules.filter(({ name }) => !replaced.has(name)), ...(own.ok ? own.value.rules : [])];
  return {
    rules: rules.sort(bySeverity),
    version: createHash('sha256')
      .update(JSON.stringify([SHIPPED_RULES, own.ok ? site : '']))
      .digest('hex')
      .slice(0, 12),
    problem: own.ok
      ? null
      : `${path}: ${own.error[0] ?? ''}; the site's rules are left out ("qmemacct rules --check ${path}")`,
  };
}

let shippedOnly: RuleSet | null = null;

/** The shipped rules, overridden by the site's own in the file `path` ('': none). */
export async function loadRules(path: string): Promise<RuleSet> {
  if (path === '') return (shippedOnly ??= ruleSet('', undefined, ''));
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const problem = `${path}: can't be read (${reasonOf(error)}); the site's rules are left out: make it readable, or empty rules_file`;
    return { ...ruleSet('', undefined, ''), problem };
  }
  const { metricNames } = await import('./metric-names.js');
  return ruleSet(text, metricNames(), path);
}

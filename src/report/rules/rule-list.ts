import { escapeJson } from '../format/escape';
import { renderCsvRows } from '../records/csv';
import { renderSection, SECTION_INDENT, wrap } from '../screen/layout';
import type { Screen } from '../screen/screen';
import { renderTable } from '../screen/table';
import { printExpression } from './expression';
import { FACTS } from './facts';
import { printTemplate, type Rule, type Severity } from './rule';
import type { RuleSet } from './rule-set';

const STYLES = { high: 'bad', medium: 'warning', low: 'faint' } as const satisfies Record<Severity, string>;

function renderRule(rule: Rule, screen: Screen): string[] {
  const { name, severity, requires, when, evidence, hint, cost } = rule;
  const rows = [
    ['when', printExpression(when.expression)],
    ['requires', requires.join(', ')],
    ['evidence', printTemplate(evidence)],
    ['cost', cost === null ? '' : `${printExpression(cost.expression)} (${cost.in.replace('·', screen.glyphs.dot)})`],
    ['hint', printTemplate(hint)],
  ].filter(([, text]) => text !== '');
  const room = screen.width - SECTION_INDENT;
  return [
    `${screen.style.title(name)}  ${screen.style[STYLES[severity]](severity)}`,
    ...rows.flatMap(([key = '', text = '']) => renderSection(key, wrap(screen.safe(text), room), screen)),
  ];
}

/** Every rule in force, the worst first. */
export function renderRules({ rules, version }: RuleSet, screen: Screen): string[] {
  return [
    ...rules.flatMap((rule) => [...renderRule(rule, screen), '']),
    screen.style.faint(`Rules version ${version}`),
  ];
}

const listed = ({ name, severity, requires, when, evidence, hint, cost }: Rule) => ({
  name,
  severity,
  requires,
  when: printExpression(when.expression),
  evidence: printTemplate(evidence),
  hint: printTemplate(hint),
  cost: cost === null ? null : printExpression(cost.expression),
  cost_in: cost?.in ?? null,
});

/** Every rule in force, as JSON. */
export function renderRulesJson({ rules, version }: RuleSet): string {
  const answer = { schema: 1, rules_version: version, rules: rules.map(listed) };
  return `${escapeJson(JSON.stringify(answer, null, 1))}\n`;
}

/** CSV with a line per rule; columns are named as in the JSON. */
export function renderRulesCsv({ rules }: RuleSet): string {
  const head = ['name', 'severity', 'requires', 'when', 'evidence', 'hint', 'cost', 'cost_in'];
  const rows = rules.map(listed).map(({ requires, ...rule }) => {
    const { name, severity, when, evidence, hint, cost, cost_in } = rule;
    return [name, severity, requires.join(' '), when, evidence, hint, cost, cost_in];
  });
  return renderCsvRows([head, ...rows]);
}

/** What rules can name besides metrics. */
export function renderFacts(screen: Screen): string[] {
  const rows = [...FACTS].map(([name, { type, help }]) => [
    name,
    type.kind === 'truth' ? 'true or false' : type.kind,
    help,
  ]);
  return renderTable([{ head: 'field' }, { head: 'is a' }, { head: 'says' }], rows, screen, Number.MAX_SAFE_INTEGER);
}

import { groupBy } from '../../base/group-by';
import type { Screen } from '../screen/screen';
import { wrap } from '../screen/layout';
import type { Hypothesis, Standing } from './hypothesis';
import type { Why } from './why';
import { listed } from './words';

const LABELS: Readonly<Record<Standing, string>> = { consistent: 'fits', undecidable: 'open', contradicted: 'not' };
const LABEL_WIDTH = 6;

function lines(standing: Standing, hypotheses: readonly Hypothesis[], width: number): string[] {
  const known = hypotheses.filter((one) => one.standing === standing);
  return [...groupBy(known, ({ evidence }) => evidence)].flatMap(([evidence, group]) => {
    const names = listed(
      group.map(({ name }) => name),
      standing === 'contradicted' ? 'or' : 'and',
    );
    return wrap(`${names}: ${evidence}`, width - LABEL_WIDTH).map(
      (line, index) => (index === 0 ? LABELS[standing].padEnd(LABEL_WIDTH) : ' '.repeat(LABEL_WIDTH)) + line,
    );
  });
}

/** The other causes that can lead to such an end, and why each fits, is open, or is ruled out. */
export function renderEvidence(why: Why, width: number, screen: Screen): string[] {
  const others = why.hypotheses.filter(({ suspect, cause }) => suspect && !why.causes.includes(cause));
  return (['consistent', 'undecidable', 'contradicted'] as const)
    .flatMap((standing) => lines(standing, others, width))
    .map(screen.style.faint);
}

import { DAY_MS } from '../../../base/units';
import { judgeNodes, USUAL_PATIENCE } from '../../../report/nodes/judge';
import { NODE_COLUMNS, nodeCells, nodesText } from '../../../report/nodes/nodes';
import { nodesAnswer } from '../../accounting/answer-shapes';
import { html } from '../html';
import { section } from '../layout';
import { askAccounting, pageRoute } from '../page';
import { webScreen } from '../screen';
import { table } from '../table';

const WEEK_MS = 7 * DAY_MS;

/** What "qmemacct nodes" shows. */
export const nodesPage = pageRoute({
  path: '/nodes',
  description: 'every host: its last heartbeat, version, records that wait, what is wrong',
  parameters: {},
  make: async (asked) => {
    const question = { what: 'nodes', query: { since: 0 } } as const;
    const { nodes: known } = await askAccounting(asked, question, nodesAnswer);
    const hosts = asked.site.live.current()?.view?.hosts.map(({ name }) => name) ?? [];
    const nodes = judgeNodes(known, hosts, asked.now - WEEK_MS, new Date(asked.now), USUAL_PATIENCE);
    const screen = webScreen(asked.now);
    const body =
      nodes.length === 0
        ? html`<p>No host has sent a heartbeat in the last 7 days.</p>`
        : html`<p>${nodesText(nodes, screen)}</p>
            ${section('Hosts', table('Hosts, the worst first', NODE_COLUMNS, nodeCells(nodes, screen)))}`;
    return {
      title: 'Hosts',
      body: html`<h1>Hosts</h1>
        ${body}`,
    };
  },
});

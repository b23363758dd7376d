import { xmlWriter } from '../../gridengine/xml/write-xml';
import { renderQhostXml, renderQstatXml } from '../../report/live/gridengine-xml';
import { chooseHosts, chooseJobs, filterOf, HOSTS_OPTIONS, XML_OPTIONS } from '../../report/live/live-options';
import { answerFromLive } from './live-answer';
import { queryOptions } from './parameter';
import { route, type Route } from './route';

const XML_TYPE = 'application/xml';

const qstatRoute = route({
  path: '/qstat.xml',
  description:
    'what "qstat -u \'*\' -r -ext -urg -xml" prints, well-formed, with full=true what "qstat -F" does; pending=false leaves the jobs that wait out',
  parameters: queryOptions(XML_OPTIONS),
  type: XML_TYPE,
  problems: [503],
  answer: async (asked) => {
    const given = { ...asked.values, pending: asked.values.pending ?? true };
    if (given.pending) await asked.site.wantPending();
    return answerFromLive(asked, { key: `qstat.xml ${JSON.stringify(given)}`, type: XML_TYPE }, ({ snapshot, view }) =>
      renderQstatXml(snapshot, chooseJobs(view, given), given.full === true ? filterOf(given) : null, xmlWriter()),
    );
  },
});

const qhostRoute = route({
  path: '/qhost.xml',
  description: 'what "qhost -F -q -j -xml" prints, well-formed',
  parameters: queryOptions(HOSTS_OPTIONS),
  type: XML_TYPE,
  problems: [503],
  answer: (asked) =>
    answerFromLive(asked, { key: `qhost.xml ${JSON.stringify(asked.values)}`, type: XML_TYPE }, ({ snapshot, view }) =>
      renderQhostXml(snapshot, chooseHosts(view, asked.values).hosts, xmlWriter()),
    ),
});

export const GRIDENGINE_XML_ROUTES: readonly Route[] = [qstatRoute, qhostRoute];

import { programsOf } from '../../record/programs';
import { submissionLine } from '../../report/advice/submission';
import { makeBody } from '../http/body';
import { queryCount, queryName } from './parameter';
import { route } from './route';

const TEXT_TYPE = 'text/plain; charset=utf-8';

export const submissionRoute = route({
  path: '/v1/submission',
  description:
    'what hooks/advise.jsv does with a submission, in one line: "keep"; or "warn" or "set", the request that past runs of its kind advise, and a sentence',
  parameters: {
    owner: queryName('who submits it'),
    job_name: queryName('its name'),
    requests: queryName('its requests: h_vmem=4G,h_rt=3600'),
    slots: queryCount('its slots, where that is one number', 1_000_000_000),
    pe: queryName('its parallel environment'),
    project: queryName('its project'),
    queue: queryName('its queue'),
    program: queryName('the digest of what it runs, as in records'),
  },
  type: TEXT_TYPE,
  problems: [503],
  answer: async ({ values, site, access, requester }) => {
    const { owner = '', job_name: jobName = '', requests = '', slots = null, pe = null } = values;
    const { project = null, queue = null, program = null } = values;
    const programs = programsOf(program, null);
    const fields = { owner, jobName, slots, pe, project, queue, programs, cluster: null, complex: null };
    const prediction = await site.predictions({ fields, access, caller: requester.key });
    const mayRewrite = site.settings.advise_submissions === 'rewrite';
    return { body: makeBody(TEXT_TYPE, submissionLine(requests, prediction, mayRewrite)), maxAge: 0 };
  },
});

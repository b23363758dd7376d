import { integer, object, string, described, type ValueOf } from '../../base/shape';
import { JSON_TYPE, makeBody } from '../http/body';
import { HttpProblem } from '../http/http-problem';
import { route } from './route';

export const signInLinkShape = object({
  url: described(string, 'opens the pages as this user, once'),
  seconds: described(integer(1), 'how long the link works'),
});

export const signInLinkRoute = route({
  path: '/v1/sign-in-link',
  description: 'a link that opens the pages as the user who asks, who is known over the unix socket',
  parameters: {},
  schema: signInLinkShape.schema,
  problems: [403, 503],
  answer: async ({ site, peer }) => {
    if (peer === null)
      throw new HttpProblem(403, 'who asks is known over the unix socket only; "qmemacct web" asks there');
    const url = site.url();
    if (url === null) throw new HttpProblem(503, 'this server has no pages: it listens on no port; set serve_port');
    const { code, seconds } = await site.sessions.invite(peer);
    const link: ValueOf<typeof signInLinkShape> = { url: `${url}/sign-in?code=${code}`, seconds };
    return { body: makeBody(JSON_TYPE, `${JSON.stringify(link)}\n`), maxAge: 0 };
  },
});

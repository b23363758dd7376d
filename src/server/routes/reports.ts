import { existsSync } from 'node:fs';
import { MIB } from '../../base/units';
import { reasonOf } from '../../base/user-error';
import { readUntrusted, UnreadError } from '../../base/read-untrusted';
import { anything, constant, described, list, object, string } from '../../base/shape';
import { RECORD_SCHEMA } from '../../record/record';
import { keptDays, reportPath } from '../../report/efficiency/kept-reports';
import { JSON_TYPE, makeBody } from '../http/body';
import { HttpProblem } from '../http/http-problem';
import type { Parameters, PathParameter } from './parameter';
import { route, type RouteRequest } from './route';

/** A report names every owner: callers who may not see all jobs may see no report. */
type Asked = Pick<RouteRequest<Parameters>, 'site' | 'access'>;

const LARGEST_BYTES = 64 * MIB;

/** The days whose nightly reports are kept and the caller may read, the latest first. Throws HttpProblem. */
export function daysOfReports({ site, access }: Asked): readonly string[] {
  const { report_dir: directory } = site.settings;
  if (access.level !== 'all' || !existsSync(directory)) return [];
  try {
    return keptDays(directory);
  } catch (error) {
    throw new HttpProblem(
      503,
      `the nightly reports can't be read: ${reasonOf(error)}; let the server's user read report_dir`,
    );
  }
}

/** A file of the report of a day, as it was written. Throws HttpProblem. */
export function readReport({ site, access }: Asked, day: string, kind: 'html' | 'json'): Buffer {
  const { report_dir: directory } = site.settings;
  if (access.level !== 'all')
    throw new HttpProblem(403, 'nightly reports name every user: they are for those who see all jobs; ask as an admin');
  try {
    return readUntrusted(reportPath(directory, day, kind), LARGEST_BYTES);
  } catch (error) {
    if (!(error instanceof UnreadError)) throw error;
    if (error.isAbsent) throw new HttpProblem(404, `no report of ${day} is kept here; /v1/reports lists the days`);
    throw new HttpProblem(
      503,
      `the report of ${day} can't be read: ${error.detail}; let the server's user read report_dir`,
    );
  }
}

export const pathDay: PathParameter<string> = {
  in: 'path',
  description: 'the day: 2026-11-20',
  schema: { type: 'string', pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$' },
  expected: '2026-11-20',
  read: (text) => (/^\d{4}-\d\d-\d\d$/.test(text) ? text : null),
};

const reportsAnswer = object({
  schema: constant(RECORD_SCHEMA),
  days: described(list(string), 'the latest first; none for those who do not see all jobs'),
});

const reportsRoute = route({
  path: '/v1/reports',
  description: 'the days whose nightly reports are kept',
  parameters: {},
  schema: reportsAnswer.schema,
  problems: [503],
  answer: (asked) => {
    const answer = { schema: RECORD_SCHEMA, days: daysOfReports(asked) };
    return { body: makeBody(JSON_TYPE, `${JSON.stringify(answer)}\n`), maxAge: 0 };
  },
});

const reportRoute = route({
  path: '/v1/reports/{day}',
  description: 'the nightly report of a day, as "qmemacct report --json" prints it',
  parameters: { day: pathDay },
  schema: anything.schema,
  problems: [403, 404, 503],
  answer: (asked) => ({ body: makeBody(JSON_TYPE, readReport(asked, asked.values.day, 'json')), maxAge: 0 }),
});

export const REPORT_ROUTES = [reportsRoute, reportRoute];

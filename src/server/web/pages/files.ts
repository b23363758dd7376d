import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { reasonOf } from '../../../base/user-error';
import { packageRoot } from '../../../base/package-root';
import { makeBody, type Body } from '../../http/body';
import { HttpProblem } from '../../http/http-problem';
import { route, type Route } from '../../routes/route';
import { STYLE } from '../style';

const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#2f6fde"/>' +
  '<path d="M2 12 5 8l3 2 3-6 3 4" fill="none" stroke="#fff" stroke-width="2"/></svg>';

/** The build makes it from `client/`. */
const SCRIPT = join(packageRoot(), 'dist', 'src', 'server', 'web', 'script.js');
const SCRIPT_TYPE = 'text/javascript; charset=utf-8';

let script: Body | null = null;

/** Throws HttpProblem if the script has not been built; the pages work without it. */
function readScript(): Body {
  try {
    return (script ??= makeBody(SCRIPT_TYPE, readFileSync(SCRIPT)));
  } catch (error) {
    throw new HttpProblem(503, `the script of the pages can't be read: ${reasonOf(error)}; run "npm run build"`);
  }
}

function file(path: string, type: string, body: () => Body, description: string): Route {
  return route({
    path,
    description,
    parameters: {},
    type,
    problems: [503],
    answer: () => ({ body: body(), maxAge: 0 }),
  });
}

const STYLE_BODY = makeBody('text/css; charset=utf-8', STYLE);
const ICON_BODY = makeBody('image/svg+xml', ICON);

export const FILES = [
  file('/style.css', STYLE_BODY.type, () => STYLE_BODY, 'the stylesheet of the pages'),
  file('/script.js', SCRIPT_TYPE, readScript, 'what the pages can do beyond showing: reading and zooming charts, live'),
  file('/icon.svg', ICON_BODY.type, () => ICON_BODY, 'their icon'),
];

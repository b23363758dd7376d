import { makeBody } from '../../http/body';
import { route } from '../../routes/route';
import { STYLE } from '../style';

const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#2f6fde"/>' +
  '<path d="M2 12 5 8l3 2 3-6 3 4" fill="none" stroke="#fff" stroke-width="2"/></svg>';

const file = (path: string, type: string, content: string, description: string): ReturnType<typeof route> => {
  const body = makeBody(type, content);
  return route({
    path,
    description,
    parameters: {},
    type,
    schema: null,
    problems: [],
    answer: () => ({ body, maxAge: 0 }),
  });
};

export const FILES = [
  file('/style.css', 'text/css; charset=utf-8', STYLE, 'the stylesheet of the pages'),
  file('/icon.svg', 'image/svg+xml', ICON, 'their icon'),
];

import { JSON_TYPE } from '../../http/body';
import { ROUTES } from '../../routes/routes';
import { html } from '../html';
import { pageRoute } from '../page';

export const interfacePage = pageRoute({
  path: '/v1',
  description: 'what programs can ask here',
  parameters: {},
  make: ({ site }) => {
    const items = ROUTES.map(({ path, description, type }) => {
      const shown = path.includes('{') ? html`<code>${path}</code>` : html`<a href="${path}"><code>${path}</code></a>`;
      return html`<dt>${shown}${type === JSON_TYPE ? null : ` (${type})`}</dt>
        <dd>${description}</dd>`;
    });
    return {
      title: 'Interface',
      body: html`<h1>Interface for programs</h1>
        <section>
          <p>
            qmemacct ${site.version} answers these addresses, with JSON unless another type stands there. Every page
            here is made from these answers.
          </p>
          <dl>${items}</dl>
        </section>`,
    };
  },
});

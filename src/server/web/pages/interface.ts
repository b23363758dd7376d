import { ROUTES } from '../../routes/routes';
import { html } from '../html';
import { pageRoute } from '../page';

/** What programs can ask, for who looks in with a browser. */
export const interfacePage = pageRoute({
  path: '/v1',
  description: 'what programs can ask here',
  parameters: {},
  make: ({ site }) => {
    const items = ROUTES.map(({ path, description }) => {
      const shown = path.includes('{') ? html`<code>${path}</code>` : html`<a href="${path}"><code>${path}</code></a>`;
      return html`<dt>${shown}</dt>
        <dd>${description}</dd>`;
    });
    return {
      title: 'Interface',
      body: html`<h1>What programs can ask here</h1>
        <section>
          <p>qmemacct ${site.version} answers these addresses with JSON. Every page here shows what they say.</p>
          <dl>${items}</dl>
        </section>`,
    };
  },
});

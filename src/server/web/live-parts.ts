import type { ClusterView } from '../../live/cluster-view';
import { problemLine, whenText } from '../../report/live/headline';
import type { Screen } from '../../report/screen/screen';
import { html, type Html } from './html';
import { RELOAD_SECONDS } from './page';

/** How old Grid Engine's figures are, and why they are not newer. */
export function ageOf(view: ClusterView, rows: 'list' | 'pending', screen: Screen): Html {
  const problem = problemLine(view, screen);
  return html`<p class="faint">${whenText(view, rows, screen)}</p>
    ${problem === null ? null : html`<p class="alert">${problem}</p>`}`;
}

/**
 * Says that the page reloads, or offers it. `linkOf`: the page as it was asked for, with this change. `why`: the
 * beginning of a sentence.
 */
export function reloadPart(reloads: boolean, linkOf: (reload: 'true' | undefined) => string, why = ''): Html {
  const path = linkOf(undefined);
  return reloads
    ? html`<p class="only-screen">This page reloads every ${RELOAD_SECONDS} s: <a href="${path}">stop</a>.</p>`
    : html`<p class="only-screen" data-live="${RELOAD_SECONDS}">
        ${why}<a href="${path}">${why === '' ? 'Reload' : 'reload'}</a> now, or
        <a href="${linkOf('true')}">every ${RELOAD_SECONDS} s</a>.
      </p>`;
}

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { html, linkTo, named } from '../../../src/server/web/html';

const HOSTILE = [
  '"',
  "'",
  '<',
  '>',
  '&',
  '=',
  '/',
  '`',
  ' ',
  '\n',
  '\u0000',
  '\u202e',
  '-->',
  ']]>',
  '<script>',
  '&quot;',
];
const hostileText = fc
  .array(fc.oneof(fc.constantFrom(...HOSTILE), fc.string()), { maxLength: 12 })
  .map((parts) => parts.join(''));

describe('html', () => {
  it('never lets a text break out of its place', () => {
    fc.assert(
      fc.property(hostileText, hostileText, (text, title) => {
        const made = html`<td title="${title}">${text}${[named(text)]}</td>`.toString();
        const found = /^<td title="([^"<>]*)">([^<>]*)<bdi>([^<>]*)<\/bdi><\/td>$/.exec(made);
        assert.ok(found, made);
        assert.doesNotMatch(made, /&(?!(?:amp|lt|gt|quot|#39);)/);
        // eslint-disable-next-line no-control-regex -- exactly these must not be there
        assert.doesNotMatch(made, /[\u0000-\u001f\u202a-\u202e\u2066-\u2069]/);
        assert.equal(found[2], found[3]);
      }),
    );
  });

  it('inserts its own markup unchanged, and escapes everything else', () => {
    assert.equal(html`<p>${html`<b>${'<i>'}</b>`} ${5}${null}</p>`.toString(), '<p><b>&lt;i&gt;</b> 5</p>');
    const likeMarkup = { toString: () => '<script>' } as unknown as string;
    assert.throws(() => html`<p>${likeMarkup}</p>`);
  });

  it('accepts values only in text and quoted attributes, and only links within the site', () => {
    assert.throws(() => html`<p ${'x'}></p>`, /in a tag/);
    assert.throws(() => html`<p class=${'x'}></p>`, /in a tag/);
    assert.throws(
      () =>
        html`<script>
          ${'x'};
        </script>`,
      /no scripts/,
    );
    assert.throws(
      () =>
        html`<style>
          ${'x'}
        </style>`,
      /no scripts/,
    );
    assert.throws(() => html`<!-- ${'x'} -->`, /comments/);
    assert.throws(() => html`<p onclick="${'x'}"></p>`, /onclick/);
    assert.throws(() => html`<p style="${'x'}"></p>`, /style/);
    for (const link of ['javascript:alert(1)', '//example.org', '/\\example.org', 'https://example.org', ''])
      assert.throws(() => html`<a href="${link}">x</a>`, /within this site/, link);
    assert.equal(
      html`<a class="x" href="${'/a?b="c"'}">x</a>`.toString(),
      '<a class="x" href="/a?b=&quot;c&quot;">x</a>',
    );
  });
});

describe('linkTo', () => {
  it('leads to the address with exactly that name', () => {
    fc.assert(
      fc.property(hostileText, (name) => {
        const link = new URL(linkTo('/jobs', { owner: name, page: null }), 'http://localhost');
        assert.equal(link.pathname, '/jobs');
        assert.equal(link.searchParams.get('owner') ?? '', Buffer.from(name).toString());
        assert.deepEqual([...link.searchParams.keys()], name === '' ? [] : ['owner']);
      }),
    );
  });
});

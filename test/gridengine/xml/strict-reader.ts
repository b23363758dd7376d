import assert from 'node:assert/strict';
import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { SaxesParser } from 'saxes';

/** An element as a general XML reader sees it. */
export interface ReadElement {
  readonly tag: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: ReadElement[];
  text: string;
}

/** The root of a document; any breach of XML 1.0 fails the test. Checked by two readers. */
export function readStrictly(xml: string): ReadElement {
  const top: ReadElement = { tag: '', attributes: {}, children: [], text: '' };
  const open = [top];
  const parser = new SaxesParser();
  parser.on('error', (error) => assert.fail(error));
  parser.on('opentag', ({ name: tag, attributes }) => {
    const element: ReadElement = { tag, attributes: { ...attributes }, children: [], text: '' };
    open.at(-1)?.children.push(element);
    open.push(element);
  });
  parser.on('text', (text) => {
    const element = open.at(-1);
    if (element !== undefined) element.text += text;
  });
  parser.on('closetag', () => void open.pop());
  parser.write(xml).close();
  assert.equal(XMLValidator.validate(xml), true);
  const [root] = top.children;
  assert.ok(root !== undefined);
  assert.deepEqual(plainTree(root), byParser(xml), 'two readers read the same');
  return root;
}

type Tree = readonly [tag: string, attributes: Readonly<Record<string, string>>, inside: string | readonly Tree[]];

/** An element with child elements keeps no text: that is only line ends. */
function plainTree({ tag, attributes, children, text }: ReadElement): Tree {
  return [tag, attributes, children.length > 0 ? children.map(plainTree) : text.trim() === '' ? '' : text];
}

const textIn = ({ '#text': text }: Readonly<Record<string, unknown>>): string => (typeof text === 'string' ? text : '');

function byParser(xml: string): Tree {
  const parser = new XMLParser({
    preserveOrder: true,
    ignoreAttributes: false,
    attributeNamePrefix: '',
    parseTagValue: false,
    trimValues: false,
    processEntities: true,
    htmlEntities: true,
  });
  const items = parser.parse(xml) as readonly Readonly<Record<string, unknown>>[];
  const tree = (item: Readonly<Record<string, unknown>>): Tree => {
    const { ':@': attributes = {}, ...rest } = item;
    const [[tag, inside] = ['', []]] = Object.entries(rest) as [string, readonly Readonly<Record<string, unknown>>[]][];
    const elements = inside.filter((one) => !('#text' in one));
    const text = inside.map((one) => textIn(one)).join('');
    const content = elements.length > 0 ? elements.map(tree) : text.trim() === '' ? '' : text;
    return [tag, attributes as Readonly<Record<string, string>>, content];
  };
  const root = items.find((item) => !('?xml' in item));
  assert.ok(root !== undefined);
  return tree(root);
}

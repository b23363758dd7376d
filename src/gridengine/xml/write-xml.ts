import type * as FastXml from 'fast-xml-parser';
import { escapeXml } from './entities';

/** An element, with text or with others in it. */
export interface XmlElement {
  readonly tag: string;
  readonly attributes?: Readonly<Record<string, string>>;
  readonly content: string | readonly XmlElement[];
}

/** A document with this root, well-formed whatever text is in it. */
export type WriteXml = (root: XmlElement) => string;

const ATTRIBUTES = ':@';
const escape = (_name: string, value: unknown): string => escapeXml(String(value));

const OPTIONS: FastXml.XmlBuilderOptions = {
  preserveOrder: true,
  ignoreAttributes: false,
  attributeNamePrefix: '',
  format: true,
  // The builder's own escaping leaves in what XML can't hold, and line ends that readers change.
  processEntities: false,
  tagValueProcessor: escape,
  attributeValueProcessor: escape,
};

function plain({ tag, attributes, content }: XmlElement): object {
  const inside = typeof content === 'string' ? [{ '#text': content }] : content.map(plain);
  return { [tag]: inside, ...(attributes === undefined ? {} : { [ATTRIBUTES]: attributes }) };
}

/**
 * Loads the builder when it is needed: only two commands and two routes write XML. The package's one CommonJS file: its
 * ES modules import twins of CommonJS files, which an installation leaves out.
 */
export function xmlWriter(): WriteXml {
  const { XMLBuilder } = require('fast-xml-parser') as typeof FastXml;
  const builder = new XMLBuilder(OPTIONS);
  const head = { '?xml': [], [ATTRIBUTES]: { version: '1.0', encoding: 'UTF-8' } };
  return (root) => `${builder.build([head, plain(root)])}\n`;
}

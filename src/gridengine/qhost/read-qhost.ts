import type { AnswerReader } from '../reading';
import { readXmlAnswer } from '../xml/xml-answer';
import { hostBuilder } from './host-builder';
import type { QhostHost } from './qhost-report';
import { qhostXml } from './qhost-xml';

export function readQhost(onHost: (host: QhostHost) => void): AnswerReader {
  return readXmlAnswer('qhost', qhostXml(hostBuilder(onHost)));
}

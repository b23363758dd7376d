import type { AnswerReader } from '../reading';
import { readXmlAnswer } from '../xml/xml-answer';
import { hostBuilder } from './host-builder';
import type { QhostHost } from './qhost-report';
import { qhostXml } from './qhost-xml';

/** Reads `qhost [-F ...] [-q] [-j] -xml` of any dialect; hosts come in the order of the answer. */
export function readQhost(onHost: (host: QhostHost) => void): AnswerReader {
  return readXmlAnswer('qhost', qhostXml(hostBuilder(onHost)));
}

import { readAnswer } from '../read-answer';
import type { AnswerReader } from '../reading';
import { hostBuilder } from './host-builder';
import { qhostJson } from './qhost-json';
import type { QhostHost } from './qhost-report';
import { qhostXml } from './qhost-xml';

/** Reads `qhost [-F ...] [-q] [-j] -xml` of any dialect, or `-fmt json`; hosts come in the order of the answer. */
export function readQhost(onHost: (host: QhostHost) => void): AnswerReader {
  const hosts = hostBuilder(onHost);
  return readAnswer({ root: 'qhost', xml: qhostXml(hosts), json: qhostJson(hosts) });
}

import type { AnswerReader } from '../reading';
import { readXmlAnswer } from '../xml/xml-answer';
import type { QhostHost } from './qhost-report';
import type { XmlHandler } from '../xml/scan';
import { hostBuilder, type HostBuilder } from './host-builder';

/** Reads `qhost [-F ...] [-q] [-j] -xml` of any dialect; hosts come in the order of the answer. */
export function readQhost(onHost: (host: QhostHost) => void): AnswerReader {
  return readXmlAnswer('qhost', qhostXml(hostBuilder(onHost)));
}

/**
 * `qhost -xml`: `host[name] > hostvalue[name]`, `resourcevalue[name, dominance]`, `queue[name] > queuevalue[name]`,
 * `job[name] > jobvalue[name]`. With `-q` the jobs follow the queue that they run in, beside it.
 */
function qhostXml(hosts: HostBuilder): XmlHandler {
  let name = '';
  let dominance = '';
  return {
    open(tag, place) {
      switch (tag) {
        case 'host':
          hosts.host(place.attribute('name') ?? '');
          break;
        case 'queue':
          hosts.queue(place.attribute('name') ?? '');
          break;
        case 'job':
          hosts.job(place.attribute('name') ?? '');
          break;
        case 'resourcevalue':
          dominance = place.attribute('dominance') ?? '';
          name = place.attribute('name') ?? '';
          break;
        case 'hostvalue':
        case 'queuevalue':
        case 'jobvalue':
          name = place.attribute('name') ?? '';
          break;
        default:
      }
    },
    close(tag, place) {
      switch (tag) {
        case 'host':
          hosts.endHost();
          break;
        case 'hostvalue':
          hosts.hostValue(name, place.text());
          break;
        case 'queuevalue':
          hosts.queueValue(name, place.text());
          break;
        case 'jobvalue':
          hosts.jobValue(name, place.text());
          break;
        case 'resourcevalue':
          hosts.resource({ name, dominance, value: place.text() });
          break;
        default:
      }
    },
  };
}

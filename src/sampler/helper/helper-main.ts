import { NODE_SOURCES, PROCESS_SOURCES } from '../../sources/registry';
import { THIS_MACHINE } from '../../sources/source';
import { serveStandardStreams } from './standard-streams';

/**
 * The helper process: reads for the sampler what may block. Started by helper.ts as
 *
 *   node helper-main.js SETTINGS
 *
 * and asked in JSON lines on standard input (protocol.ts). It handles one request after another and hangs if a source
 * hangs: the sampler watches the time, and replaces it.
 */
serveStandardStreams(process.argv[2] ?? '', {
  nodeSources: NODE_SOURCES,
  processSources: PROCESS_SOURCES,
  place: THIS_MACHINE,
});

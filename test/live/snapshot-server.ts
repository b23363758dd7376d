import { createServer, type RequestListener } from 'node:http';
import type { TestContext } from 'node:test';
import type { Snapshot } from '../../src/live/snapshot';
import { listenAt } from '../support/listening';

/** Serves HTTP on a unix socket until the test is over; returns the socket's path. */
export function serveOnSocket(t: TestContext, listener: RequestListener): Promise<string> {
  return listenAt(t, createServer(listener));
}

export function anEmptySnapshot(cluster: string): Snapshot {
  const nothing = { at: 1, value: [], problem: null, triedAt: 1 };
  return { cluster, dialect: 'sge8.1.9', hosts: nothing, running: nothing, details: nothing, pending: null };
}

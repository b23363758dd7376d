interface Interruption {
  readonly signal: AbortSignal;
  readonly release: () => void;
}

/** Ctrl-C (or SIGTERM) asks for an end at the next good moment; a second one ends at once. */
export function interruption(): Interruption {
  const controller = new AbortController();
  const stop = (): void => {
    release();
    controller.abort();
  };
  const release = (): void => {
    process.off('SIGINT', stop);
    process.off('SIGTERM', stop);
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  return { signal: controller.signal, release };
}

/** A sleep that can be ended early. */
export class Sleeper {
  private pending: (() => void) | null = null;

  readonly wake = (): void => this.pending?.();

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.pending = null;
        resolve();
      };
      const timer = setTimeout(done, Math.max(0, ms));
      this.pending = done;
    });
  }
}

/**
 * Tries what a busy machine may spoil now and then: passes as soon as one attempt does, and fails as the last one did.
 * For bounds of time only; what must always hold is asserted once.
 */
export async function oneOf(tries: number, attempt: () => unknown): Promise<void> {
  for (let left = tries; ; left--)
    try {
      await attempt();
      return;
    } catch (error) {
      if (left <= 1) throw error;
    }
}

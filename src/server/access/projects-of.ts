import type { AccountingDesk } from '../accounting/accounting-thread';
import { remembering } from './remembering';
import { SEES_ALL } from './access';

/** Asks the accounting DB for the projects that a user may see, and remembers them; none where it does not answer. */
export function newProjectsOf(
  accounting: AccountingDesk,
  now: () => number,
): (user: string) => Promise<readonly string[]> {
  const find = remembering(async (user: string): Promise<readonly string[] | null> => {
    try {
      const bytes = await accounting.ask({ what: 'projects', query: { user, now: now() } }, SEES_ALL);
      // Written by the thread of this process.
      return (JSON.parse(bytes.toString('utf8')) as { readonly projects: readonly string[] }).projects;
    } catch {
      // Its own look at the accounting DB tells of it; until it answers, users see their own jobs only.
      return null;
    }
  }, now);
  return async (user) => (await find(user)) ?? [];
}

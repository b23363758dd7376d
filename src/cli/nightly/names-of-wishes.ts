import { namesOf } from './user-ids';
import { readWishes, type Wish } from './wishes';

/** What users have said about digests, by their names. Rejects where the directory can't be read. */
export async function wishesByName(directory: string): Promise<ReadonlyMap<string, Wish>> {
  const wishes = readWishes(directory);
  const names = await namesOf([...wishes.keys()]);
  return new Map(
    [...wishes].flatMap(([uid, wish]) => [[names.get(uid) ?? '', wish] as const]).filter(([name]) => name !== ''),
  );
}

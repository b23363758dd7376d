/** What a driver calls something, fit for one line: no control characters, no doubled blanks, 64 characters at most. */
export function plainName(text: string): string {
  return text
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .slice(0, 64);
}

/**
 * Names that stay apart: the first bearer of a name keeps it, the next ones become "name#2", "name#3". A bearer that was
 * seen before keeps the name that it was given, whatever has come or gone since.
 */
export function namesInOrder(): (bearer: string, name: string) => string {
  const given = new Map<string, string>();
  const taken = new Set<string>();
  return (bearer, name) => {
    const known = given.get(bearer);
    if (known !== undefined) return known;
    let unique = name;
    for (let number = 2; taken.has(unique); number += 1) unique = `${name}#${number}`;
    given.set(bearer, unique);
    taken.add(unique);
    return unique;
  };
}

/** For sorting: "hwmon2" comes before "hwmon10". */
export function byNumber(a: string, b: string): number {
  const number = (name: string): number => Number(/(\d+)\D*$/.exec(name)?.[1] ?? 0);
  return number(a) - number(b) || (a < b ? -1 : 1);
}

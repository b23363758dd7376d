/** An unsigned number as the kernel prints it (at most 20 digits); null for anything else. */
export function natural(word: string | undefined): number | null {
  return word !== undefined && /^\d{1,20}$/.test(word) ? Number(word) : null;
}

/** All of the words as natural numbers; null when one of them is not. */
export function naturals(words: readonly string[]): readonly number[] | null {
  const numbers: number[] = [];
  for (const word of words) {
    const number = natural(word);
    if (number === null) return null;
    numbers.push(number);
  }
  return numbers;
}

/** Words of a line, between blanks or tabs. */
export const words = (line: string): readonly string[] => line.split(/[ \t]+/).filter((word) => word !== '');

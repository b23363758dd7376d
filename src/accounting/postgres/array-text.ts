/** A number as PostgreSQL prints a double precision: values that are equal have equal text. */
export function doubleText(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return '0';
  if (size >= 1e-4 && size < 1e15) return String(value);
  return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2');
}

/** An element of an array literal. */
export function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}

/** The array literal of elements that are numbers, or quoted where they may hold any text; null: NULL. */
export function arrayText(elements: readonly (string | number | null)[]): string {
  let text = '{';
  for (let at = 0; at < elements.length; at++) {
    const element = elements[at] ?? 'NULL';
    text += at === 0 ? element : `,${element}`;
  }
  return `${text}}`;
}

/** A note with its numbers taken out: "first 120 ms unobserved" is "first \u0001 ms unobserved" and [120]. */
interface NoteTemplate {
  readonly template: string;
  readonly numbers: readonly number[];
}

const HOLE = '\u0001';
// Numbers that print as they were written; the rest (007, or beyond 15 digits) stays in the template.
const NUMBER = /(?<![\d])(?:0|[1-9]\d{0,14})(?!\d)/g;

/** Notes repeat except for their numbers: templates go to a dictionary, numbers into the record. */
export function splitNote(note: string): NoteTemplate {
  if (note.includes(HOLE)) return { template: note, numbers: [] };
  const numbers: number[] = [];
  const template = note.replace(NUMBER, (digits) => {
    numbers.push(Number(digits));
    return HOLE;
  });
  return { template, numbers };
}

export function joinNote({ template, numbers }: NoteTemplate): string {
  if (numbers.length === 0) return template;
  let index = 0;
  return template.replaceAll(HOLE, () => String(numbers[index++] ?? ''));
}

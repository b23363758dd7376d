/** The common form of names that differ only in their numbers: "step_12_of_40" is "step_#_of_#". */
export function nameClass(name: string): string {
  return name.replace(/\d+/g, '#');
}

/** A pattern for a filter by name that matches the names of a class. */
export function classPattern(name: string): string {
  return name.replaceAll('#', '*');
}

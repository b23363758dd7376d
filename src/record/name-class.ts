/** What names that differ in their digits only have in common: "step_12_of_40" is "step_#_of_#". */
export function nameClass(name: string): string {
  return name.replace(/\d+/g, '#');
}

/** A pattern of the names of a class, for a filter by name. */
export function classPattern(name: string): string {
  return name.replaceAll('#', '*');
}

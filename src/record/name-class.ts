/** What names that differ in their digits only have in common: "step_12_of_40" is "step_#_of_#". */
export function nameClass(name: string): string {
  return name.replace(/\d+/g, '#');
}

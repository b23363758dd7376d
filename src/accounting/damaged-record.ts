/** A stored record that can't be read back: of an unknown form, or cut off. */
export class DamagedRecord extends Error {
  constructor(problem: string) {
    super(`a stored record ${problem}`);
    this.name = 'DamagedRecord';
  }
}

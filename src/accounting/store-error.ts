import { UserError } from '../base/user-error';

/** A store that can't be used: which one, why, and what to do about it. */
export class StoreError extends UserError {
  constructor(
    readonly path: string,
    /** What is wrong, without the path. */
    readonly reason: string,
    /** What to do about it. */
    hint: string,
    /** Whether waiting may help (locked, full, missing mount ...); false: a person has to act. */
    readonly retry: boolean,
    cause?: unknown,
  ) {
    super(`${path}: ${reason}`, { hint, cause });
  }
}

/** Why a store can't be used, as in StoreError. */
export type Fault = Readonly<Record<'reason' | 'hint', string>> & { readonly retry: boolean };

/** A stored record that can't be read back: of an unknown form, or cut off. */
export class DamagedRecord extends Error {
  constructor(problem: string) {
    super(`a stored record ${problem}`);
    this.name = 'DamagedRecord';
  }
}

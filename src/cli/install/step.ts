/** One thing that an installation does, said before it is done. */
export interface Step {
  readonly says: string;
  /** Does it; what it returns is told as a warning. */
  readonly apply: () => string | null | Promise<string | null>;
}

/** A step that either works or throws. */
export function step(says: string, apply: () => void): Step {
  return {
    says,
    apply: () => {
      apply();
      return null;
    },
  };
}

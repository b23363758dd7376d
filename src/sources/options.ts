import type { OptionValue } from '../record/setting';

/** An option that is a list of words; empty when it is none. */
export const listOption = (value: OptionValue | undefined): readonly string[] =>
  typeof value === 'object' ? value : [];

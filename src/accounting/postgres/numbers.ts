/** A list of numbers as JSON, the parameter of this place, for IN. */
export const numbersAt = (place: number): string =>
  `(SELECT n::bigint FROM jsonb_array_elements_text($${place}::text::jsonb) AS n)`;

export const NUMBERS = numbersAt(1);

/** What follows IN for a list of numbers that the parameter `$place` holds as JSON. */
export const numbersAt = (place: number): string =>
  `(SELECT n::bigint FROM jsonb_array_elements_text($${place}::text::jsonb) AS n)`;

export const NUMBERS = numbersAt(1);

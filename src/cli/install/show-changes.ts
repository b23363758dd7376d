import type { Screen } from '../../report/screen';
import { byTarget, targetName, type Change } from './hook-plan';

/** Every change, old above new, whole: these lines are to be read before they are made. */
export function showChanges(changes: readonly Change[], screen: Screen): string[] {
  const { style, glyphs, safe } = screen;
  return byTarget(changes).flatMap(([target, ones]) => [
    style.title(safe(targetName(target))),
    ...ones.flatMap(({ stage, old, new: value }) => [
      `  ${stage}  ${safe(old ?? '(not set)')}`,
      `      ${glyphs.arrow.padStart(2)}  ${style.accent(safe(value ?? '(not set)'))}`,
    ]),
  ]);
}

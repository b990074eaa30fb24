/**
 * @file "Did you mean": the nearest of some known words to one that is not known, and options that do not exist.
 */

/** Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let best = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (same ? 0 : 1));
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) best = Math.min(best, (beforeLast[j - 2] ?? 0) + 1);
      row.push(best);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? 0;
}

/** The known word nearest to `word`, when it is near enough to be what was meant. */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  const wanted = word.toLowerCase();
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(wanted.length * 0.4)) + 1;
  for (const candidate of known) {
    const distance = editDistance(wanted, candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** The names of options, each once: a record of them cannot miss one that a type has. */
export type OptionNames<T> = { readonly [K in keyof Required<T>]: true };

/** What to say of the first option that there is not: a misspelt one would be as if it were not there. */
export function strayOption<T>(given: object, names: OptionNames<T>): string | undefined {
  const known = Object.keys(names);
  const stray = Object.keys(given).find((name) => !known.includes(name));
  if (stray === undefined) return undefined;
  return `there is no option "${stray}".${didYouMean(stray, known)} Options are ${known.join(", ")}`;
}

/** ` Did you mean "x"?` to put behind a message; empty when nothing is near. */
export function didYouMean(word: string, known: Iterable<string>): string {
  const found = nearest(word, known);
  return found === undefined ? "" : ` Did you mean "${found}"?`;
}

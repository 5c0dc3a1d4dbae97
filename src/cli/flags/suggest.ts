// Suggest: the name that a mistyped word probably means.

/** With more edits, it is another word and not a typo. */
const EDITS_MAX = 2;

/** "did you mean ...?", or an empty text. */
export function didYouMean(word: string, names: readonly string[], prefix = ""): string {
  const near = names
    .map((name) => ({ name, edits: editsBetween(word, name) }))
    .filter(({ name, edits }) => edits <= EDITS_MAX && edits < name.length)
    .sort((a, b) => a.edits - b.edits)[0];
  return near === undefined ? "" : `did you mean ${prefix}${near.name}?`;
}

/** The edit distance: insertions, deletions and replacements. */
export function editsBetween(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let at = 1; at <= from.length; at += 1) {
    const next = [at];
    for (let other = 1; other <= to.length; other += 1) {
      const replaced = (row[other - 1] ?? 0) + (from[at - 1] === to[other - 1] ? 0 : 1);
      next.push(Math.min((row[other] ?? 0) + 1, (next[other - 1] ?? 0) + 1, replaced));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}

// Suggestions: the word that a mistyped one was probably meant to be.

/** Edits after which a word is another word and no mistake. */
const EDITS_MAX = 2;

/** " Did you mean ...?" with a leading blank, or nothing. */
export function didYouMean(word: string, known: readonly string[], prefix = ""): string {
  const near = known
    .map((name) => ({ name, edits: editsBetween(word, name) }))
    .filter(({ name, edits }) => edits <= EDITS_MAX && edits < name.length)
    .sort((a, b) => a.edits - b.edits)[0];
  return near === undefined ? "" : ` Did you mean ${prefix}${near.name}?`;
}

/** Fewest insertions, deletions and replacements that make one word of the other. */
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

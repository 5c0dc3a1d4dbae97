// Test titles: finds titles of tests that name facts, in the text of a test file or Python script.
//   T1. Only numbers at the start of a title count: "[12][13] ..." shows facts 12 and 13.
//   T2. A title is text that a call starts with. A comment or other string that starts with a
//       number in brackets is not a title.

export interface FactTitle {
  readonly title: string;
  readonly facts: readonly number[];
}

const TITLE = /\(\s*(["`'])((?:\[\d+\])+)( (?:(?!\1)[^\\\n]|\\.)+)\1/g;

export function titlesIn(text: string): FactTitle[] {
  return [...text.matchAll(TITLE)].map(([, , head = "", rest = ""]) => ({
    title: head + rest,
    facts: [...head.matchAll(/\d+/g)].map(([number]) => Number(number)), // T1
  }));
}

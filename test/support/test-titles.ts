// Titles: finds the titles of tests that name facts, in the text of a test file or a Python script.
//   T1. Only numbers at the head of a title count: "[12][13] ..." shows facts 12 and 13.
//   T2. A title is text that a call begins with; a comment or other string that begins with a
//       number in brackets is none.

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

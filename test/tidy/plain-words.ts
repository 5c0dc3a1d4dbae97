// Plain words: the words this project does not use, as data, and where it looks for them.
//   P1. Prose is what people read: docs, comments, test titles, and strings with a space in them.
//   P2. Each banned word names what to write instead.
//   P3. A variable is named by a noun: `message`, not `told`; `previous`, not `former`.
//   P4. An exception names one file and one word, and says why.

import {
  isNode,
  type Node,
  type SourceFile,
  type TextFile,
  type Violation,
  walk,
} from "./source-file.ts";

interface BannedWord {
  readonly pattern: RegExp;
  readonly instead: string;
}

const word = (source: string, instead: string): BannedWord => ({
  pattern: new RegExp(`(?<![\\w-])(${source})(?![\\w-])`, "i"),
  instead,
});

/** P2 */
export const BANNED_WORDS: readonly BannedWord[] = [
  word("told", "name the actor: returns, reports, notifies"),
  word("tells? of|telling of", "reports, describes, refers to"),
  word("tidings", "event, notification"),
  word("nobody", "name the component, or write no one"),
  word("whoever", "name the component or the reader"),
  word("anew", "again"),
  word("mend|mends|mended|mending", "fix, repair"),
  word("for ever", "forever, permanently"),
  word("besides", "also, in addition to"),
  word("at the most", "at most"),
  word("unless said|unless told", "by default"),
  word("the like", "the same, similar"),
  word("lest", "so that ... does not"),
  word("worked off|work off|works off", "processed"),
  word("in hand", "in flight"),
  word("at work", "in progress, running"),
  word("gives? up on|gave up on|given up on|giving up on", "dead-lettered"),
  word("puts? back|putting back", "returned, requeued"),
  word(
    "(?:is|are|was|were|be) no (?!longer|more|less|fewer|later|earlier|larger|smaller|slower|faster|older|newer|other|such|way|need|point|one\\b)(?:\\w+)",
    "is not a ...",
  ),
  word("of one's own|of ours|a word of ours|of the user's own", "your own, the user's"),
  word("goes on|go on|went on|going on", "continues"),
  word("comes? to (?:its|their|an) end|came to (?:its|their|an) end", "ends, finishes"),
  word("bears?", "tolerates, supports"),
  word("heard by|hears? of|heard of", "receives, is notified of"),
  word("house", "project, repository"),
  word("rooms?(?!\\.ts|s-for)", "part, folder, space"),
  word("the law(?:'s)?|law's way", "state machine, transitions"),
  word("short way|long way", "fast path, slow path"),
  word("courier|parcel", "sender, pending send"),
  word("set-ups?", "setup"),
  word("strikes?|struck|disturb(?:s|ed|ing)?|disturbances?", "inject, fires, fault"),
  word("under way", "in progress, in flight"),
  word("by chance|of chance|chance", "random, probability"),
  word("servants", "services"),
  word(
    "(?:gives?|gave|given|grants?|granted|asks?|asked|without|by|has|have|had) leave",
    "permission",
  ),
];

/** Matches a line if one of the words does; most lines have none. */
const ANY_BANNED = new RegExp(BANNED_WORDS.map(({ pattern }) => pattern.source).join("|"), "i");

/** P3 */
const BANNED_VARIABLES: ReadonlyMap<string, string> = new Map([
  ["told", "message, event, report"],
  ["found", "the thing that was found: row, match, existing"],
  ["known", "existing, remembered, the thing itself"],
  ["kept", "stored, remaining"],
  ["left", "remaining"],
  ["taken", "claimed, the thing itself"],
  ["seen", "the thing itself"],
  ["former", "previous"],
  ["place", "position, location, index"],
]);

interface Exception {
  readonly path: string;
  readonly word: string;
  readonly reason: string;
}

/** P4 */
export const EXCEPTIONS: readonly Exception[] = [
  { path: "ARCHITECTURE.md", word: "room", reason: "names the file of the import table" },
  { path: "test/tidy/plain-words.ts", word: "*", reason: "is the list" },
  { path: "test/tidy/plain-words.test.ts", word: "*", reason: "tests the list" },
];

function isExcepted(path: string, found: string): boolean {
  return EXCEPTIONS.some(
    (each) => each.path === path && (each.word === "*" || found.toLowerCase().includes(each.word)),
  );
}

interface Line {
  readonly text: string;
  readonly line: number;
}

function checkLines(path: string, lines: readonly Line[]): Violation[] {
  return lines.flatMap(({ text, line }) => {
    if (!ANY_BANNED.test(text)) return [];
    return BANNED_WORDS.flatMap(({ pattern, instead }) => {
      const match = pattern.exec(text)?.[1];
      if (match === undefined || isExcepted(path, match)) return [];
      return [{ path, line, message: `"${match}": write ${instead}` }];
    });
  });
}

/** Comments, strings and titles of a source file (P1), and the names of its variables (P3). */
export function checkPlainCode(file: SourceFile): Violation[] {
  return [
    ...checkLines(file.path, [...commentLines(file), ...stringLines(file)]),
    ...checkVariables(file),
  ];
}

/** Pages, and the comments of scripts in other languages (P1). */
export function checkPlainText({ path, text }: TextFile): Violation[] {
  const page = path.endsWith(".md");
  if (!page && !/(\.(py|sh|yml|yaml)|\/run)$/.test(path)) return [];
  const lines = text.split("\n").map((content, index) => ({ text: content, line: index + 1 }));
  return checkLines(path, page ? lines : lines.filter(({ text: content }) => /#/.test(content)));
}

function commentLines(file: SourceFile): Line[] {
  return file.comments.flatMap(({ text, line }) =>
    text.split("\n").map((content, index) => ({ text: content, line: line + index })),
  );
}

function stringLines(file: SourceFile): Line[] {
  const lines: Line[] = [];
  walk(file.program, (node) => {
    const text = textOf(node);
    if (text?.includes(" ")) lines.push({ text, line: file.lineOf(node.start) });
  });
  return lines;
}

function textOf(node: Node): string | null {
  if (node.type === "Literal" && typeof node.value === "string") return node.value;
  if (node.type !== "TemplateElement") return null;
  const { cooked } = node.value as { readonly cooked?: string };
  return cooked ?? null;
}

function checkVariables(file: SourceFile): Violation[] {
  const violations: Violation[] = [];
  const names: { name: string; start: number }[] = [];
  const add = ({ name, start }: Node) => names.push({ name: String(name), start });
  walk(file.program, (node, parent, field) => {
    if (node.type === "Identifier" && isBinding(parent, field)) add(node);
    if (node.type === "ObjectPattern") for (const bound of boundBy(node)) add(bound);
  });
  const pairs = new Set(names.map(({ name }) => name));
  for (const { name, start } of names) {
    const instead = BANNED_VARIABLES.get(name);
    if (instead === undefined) continue;
    if (name === "left" && pairs.has("right")) continue; // The two sides of a comparison.
    if (isExcepted(file.path, name)) continue;
    const line = file.lineOf(start);
    violations.push({ path: file.path, line, message: `variable "${name}": name it ${instead}` });
  }
  return violations;
}

/** Whether an identifier in that field of its parent declares a variable or a parameter. */
function isBinding(parent: Node | null, field: string): boolean {
  if (parent === null) return false;
  if (parent.type === "VariableDeclarator") return field === "id";
  if (field === "params" || parent.type === "RestElement") return true;
  if (parent.type === "ArrayPattern") return true;
  return parent.type === "AssignmentPattern" && field === "left";
}

/** The variables of a pattern such as `{ a, b: c }`: `a` and `c`. Those with a default are not. */
function boundBy({ properties }: Node): Node[] {
  const values = (properties as readonly Node[]).map(({ value }) => value);
  return values.filter((value) => isNode(value)).filter(({ type }) => type === "Identifier");
}

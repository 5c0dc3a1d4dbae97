import { expect, test } from "vitest";
import { checkFileName } from "./file-names.ts";
import { checkLeftovers } from "./leftovers.ts";
import { checkMachineTraces } from "./machine-traces.ts";
import { parse } from "./source-file.ts";

function leftovers(text: string): string[] {
  return checkLeftovers(parse("src/a.test.ts", text)).map(({ message }) => message);
}

test.each(["test", "it", "describe", "describe.each([1])", "test.concurrent"])(
  "%s with .only is rejected",
  (head) => {
    expect(leftovers(`${head}.only("one", () => {});`)).toEqual([
      "a focused test disables the others",
    ]);
  },
);

test("a member called only of anything else is fine, and so is the word in a string", () => {
  expect(leftovers(`filters.only("one"); const text = "test.only(1)";`)).toEqual([]);
});

test("a note without an owner is rejected, in line and block comments", () => {
  expect(leftovers("// FIXME soon")).toEqual(["a leftover FIXME"]);
  expect(leftovers("/*\n * TODO later\n */")).toEqual(["a TODO without an owner"]);
  expect(leftovers("// TODO(ann): once the port is there\nconst text = 'FIXME';")).toEqual([]);
});

test.each([
  "// const a = 1;",
  "// return step(state);",
  "// if (a === 1) {",
  "// broker.close();",
  `// import { a } from "./a.ts";`,
])("code in a comment is rejected: %s", (text) => {
  expect(leftovers(text)).toEqual(["code in a comment"]);
});

test.each([
  "// Returns early; the caller reads the kind (C3).",
  "// if it was held by another, nothing happens",
  "/** Use it like so:\n *   const a = open();\n */",
])("prose and examples are not code: %s", (text) => {
  expect(leftovers(text)).toEqual([]);
});

test.each(["src/core/utils.ts", "src/queue-helpers/a.ts", "src/types.ts", "src/JobQueue.ts"])(
  "the file name %s is rejected",
  (path) => expect(checkFileName({ path, text: "" })).toHaveLength(1),
);

test.each(["src/core/type-table.ts", "src/a/x.test.ts", "docs/Types.md", "README.md"])(
  "the file name %s is fine",
  (path) => expect(checkFileName({ path, text: "" })).toEqual([]),
);

// The examples are put together here, since this file is under the same rule.
const secret = (...parts: string[]) => parts.join("");

test.each([
  secret("see /ho", "me/ann/notes"),
  secret("cd /Us", "ers/ann"),
  secret("https://regis", "try.example.org/left-pad"),
  secret('"resol', 'ved": "https://example.org/a.tgz"'),
])("a trace of the machine is found: %s", (text) => {
  expect(checkMachineTraces({ path: "a.md", text }).length).toBeGreaterThan(0);
});

test.each(["/usr/bin/aws", "GET /homes/1", "./home/a", "the npm package node"])(
  "no trace of a machine: %s",
  (text) => expect(checkMachineTraces({ path: "a.md", text })).toEqual([]),
);

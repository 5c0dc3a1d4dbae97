import { expect, test } from "vitest";
import { checkCycles, checkDeadFiles, entriesNamedIn } from "./graph.ts";
import { parse } from "./source-file.ts";

function files(sources: Record<string, string>) {
  return Object.entries(sources).map(([path, text]) => parse(path, text));
}

function dead(sources: Record<string, string>, entries: string[] = []): string[] {
  return checkDeadFiles(files(sources), entries).map(({ path }) => path);
}

test("a cycle of any length is reported once", () => {
  const cycles = checkCycles(
    files({
      "src/a.ts": `import { b } from "./b.ts";`,
      "src/b.ts": `export { c } from "./deep/c.ts";`,
      "src/deep/c.ts": `import { a } from "../a.ts";`,
    }),
  );
  expect(cycles.map(({ message }) => message)).toEqual([
    "import cycle: src/a.ts -> src/b.ts -> src/deep/c.ts -> src/a.ts",
  ]);
});

test("two paths to the same file are not a cycle, nor are type imports", () => {
  const cycles = checkCycles(
    files({
      "src/a.ts": `import "./b.ts"; import "./c.ts";`,
      "src/b.ts": `import "./c.ts";`,
      "src/c.ts": `import type { A } from "./a.ts";`,
    }),
  );
  expect(cycles).toEqual([]);
});

test("a file that neither tests nor entry points reach is dead, and so are its own imports", () => {
  const sources = {
    "src/main.ts": `import "./used.ts";`,
    "src/used.ts": "",
    "src/tested.ts": "",
    "src/tested.test.ts": `import "./tested.ts";`,
    "src/island.ts": `import "./rock.ts";`,
    "src/rock.ts": `import "./island.ts";`,
  };
  expect(dead(sources, ["src/main.ts"])).toEqual(["src/island.ts", "src/rock.ts"]);
});

test("a worker named by its relative path is alive", () => {
  const sources = {
    "src/pool.ts": `new Worker(new URL("./worker.ts", import.meta.url));`,
    "src/worker.ts": "",
  };
  expect(dead(sources, ["src/pool.ts"])).toEqual([]);
});

test("entry points come from package.json, with built files mapped to their sources", () => {
  const text = `{ "bin": "./dist/cli/main.js", "scripts": { "test": "node scripts/test.ts" } }`;
  expect(entriesNamedIn(text)).toEqual(["src/cli/main.ts", "scripts/test.ts"]);
});

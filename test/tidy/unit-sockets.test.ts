import { expect, test } from "vitest";
import { parse } from "./source-file.ts";
import { checkUnitSockets } from "./unit-sockets.ts";

function messages(sources: Record<string, string>): string[] {
  const files = Object.entries(sources).map(([path, text]) => parse(path, text));
  return checkUnitSockets(files).map(({ path, message }) => `${path}: ${message}`);
}

const LISTENER = `import { createServer } from "node:http"; createServer().listen(0);`;

test("a unit test that reaches a listener through its fixtures is rejected, with the chain", () => {
  const sources = {
    "src/a.test.ts": `import { world } from "../test/support/world.ts";`,
    "test/support/world.ts": `export { start as world } from "../../src/start.ts";`,
    "src/start.ts": LISTENER,
  };
  expect(messages(sources)).toEqual([
    "src/a.test.ts: a unit test opens a listener: " +
      "src/a.test.ts -> test/support/world.ts -> src/start.ts",
  ]);
});

test.each([
  "server.listen(0);",
  "http.createServer(() => {});",
  "createSecureServer({});",
  "createHttpListener(handler, {});",
])("a unit test that opens a listener itself is rejected: %s", (text) => {
  expect(messages({ "src/a.test.ts": text })).toHaveLength(1);
});

test.each(["node:net", "net", "node:http", "node:https", "node:http2", "node:tls", "node:dgram"])(
  "a unit test that imports %s is rejected",
  (name) => {
    expect(messages({ "src/a.test.ts": `import * as network from "${name}";` })).toEqual([
      `src/a.test.ts: a unit test imports ${name}: move it to test/integration`,
    ]);
  },
);

test("a listener that is loaded later counts too", () => {
  const sources = {
    "src/start.ts": LISTENER,
    "src/lazy.ts": `export const load = () => import("./start.ts");`,
    "src/a.test.ts": `import { load } from "./lazy.ts";`,
  };
  expect(messages(sources)).toHaveLength(1);
});

test("types of a listener, its use elsewhere and commands that load it later are fine", () => {
  const sources = {
    "src/start.ts": LISTENER,
    "src/cli/commands/start/up.ts": `export const load = () => import("../../../start.ts");`,
    "src/a.test.ts": `import type { Start } from "./start.ts";`,
    "src/c.test.ts": `import type { Socket } from "node:net";`,
    "src/b.test.ts": `import { load } from "./cli/commands/start/up.ts";`,
    "test/integration/c.test.ts": `import { start } from "../../src/start.ts"; start.listen(0);`,
  };
  expect(messages(sources)).toEqual([]);
});

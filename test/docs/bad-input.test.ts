import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { rowsOf } from "../support/markdown-table.ts";

const root = join(import.meta.dirname, "../..");
const page = readFileSync(join(root, "docs/reference/bad-input.md"), "utf8");

test.each([
  ["bad-input.test.ts", "# Bad input"],
  ["bad-messages.test.ts", "## Own messages"],
  ["bad-rows.test.ts", "## Rows"],
  ["bad-tables.test.ts", "## Tables"],
  ["bad-doctor-input.test.ts", "## Doctor"],
  ["bad-infra.test.ts", "## Infrastructure"],
  ["bad-adapters.test.ts", "## Lambda and tasks"],
  ["replay/bad-replays.test.ts", "## Replay"],
  ["bad-manifests.test.ts", "## Manifests"],
  ["bad-audits.test.ts", "## Audits"],
])("the page has exactly one row for every test of %s", (file, heading) => {
  const tests = readFileSync(join(root, "test/integration", file), "utf8");
  const titles = [...tests.matchAll(/^test\("(.*)", async/gm)].map(([, title]) => title);
  expect(titles.length).toBeGreaterThan(0);
  expect(tests).not.toMatch(/\.(skip|only|todo|fails)\b/);
  const section = page.slice(page.indexOf(heading));
  expect(rowsOf(section, "what").map((cells) => cells.join(": "))).toEqual(titles);
});

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { rowsOf } from "../support/markdown-table.ts";

const root = join(import.meta.dirname, "../..");
const page = readFileSync(join(root, "docs/reference/bad-input.md"), "utf8");

test.each([
  ["objects/bad-input.test.ts", "# Bad input"],
  ["messages/bad-messages.test.ts", "## Own messages"],
  ["objects/bad-rows.test.ts", "## Rows"],
  ["tables/bad-tables.test.ts", "## Tables"],
  ["doctor/bad-doctor-input.test.ts", "## Doctor"],
  ["infra/bad-infra.test.ts", "## Infrastructure"],
  ["adapters/bad-adapters.test.ts", "## Lambda and tasks"],
  ["replay/bad-replays.test.ts", "## Replay"],
  ["lineage/bad-manifests.test.ts", "## Manifests"],
  ["audit/bad-audits.test.ts", "## Audits"],
])("the page has exactly one row for every test of %s", (file, heading) => {
  const tests = readFileSync(join(root, "test/integration", file), "utf8");
  const titles = [...tests.matchAll(/^test\("(.*)", async/gm)].map(([, title]) => title);
  expect(titles.length).toBeGreaterThan(0);
  expect(tests).not.toMatch(/\.(skip|only|todo|fails)\b/);
  const section = page.slice(page.indexOf(heading));
  expect(rowsOf(section, "what").map((cells) => cells.join(": "))).toEqual(titles);
});

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { CONSOLE_SCHEMA, renderConsoleSchema } from "../../scripts/console-schema.ts";

test("the types of the console's page are those of the OpenAPI file", () => {
  const stored = readFileSync(CONSOLE_SCHEMA, "utf8");
  expect(stored, "run `node scripts/console-schema.ts`").toBe(renderConsoleSchema());
});

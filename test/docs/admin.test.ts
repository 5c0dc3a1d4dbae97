import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ADMIN_ROUTES } from "../../src/broker/wire/admin/admin.ts";
import { rowsOf } from "../support/markdown-table.ts";

const PAGE = readFileSync(new URL("../../docs/reference/admin.md", import.meta.url), "utf8");

test("the page lists exactly the paths and methods of the admin API", () => {
  expect(rowsOf(PAGE, "path").map(([path, methods]) => [path, methods])).toEqual(
    ADMIN_ROUTES.map(({ path, methods }) => [
      `\`/_tidegate/${path}\``,
      Object.keys(methods)
        .map((method) => `\`${method}\``)
        .join(", "),
    ]),
  );
});

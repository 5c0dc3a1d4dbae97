import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import orders from "../../examples/orders.ts";
import { startDev } from "../../src/api/run.ts";

const root = join(import.meta.dirname, "../..");

test.each([
  ["README.md", "orders.ts"],
  ["docs/guides/instead-of-localstack.md", "first-taste.ts"],
])("%s shows examples/%s, word for word", (path, name) => {
  const page = readFileSync(join(root, path), "utf8");
  const example = readFileSync(join(root, "examples", name), "utf8");
  expect(page).toContain(`\`\`\`ts\n${example}\`\`\``);
});

test("the README has at most 140 lines", () => {
  const lines = readFileSync(join(root, "README.md"), "utf8").trimEnd().split("\n");
  expect(lines.length).toBeLessThanOrEqual(140);
});

test("the pipeline in the README processes a file", async () => {
  const data = mkdtempSync(join(tmpdir(), "tidegate-readme-"));
  const dev = await startDev(orders, { data, port: 0 });
  try {
    await dev.put("orders/1.csv", "id,amount\n7,9.50\n");
    await dev.idle();
    expect(dev.snapshot()).toMatchObject({ committed: 1, deadLettered: 0 });
  } finally {
    await dev.stop();
  }
  const database = new DatabaseSync(join(data, "ledger.db"), { readOnly: true });
  expect(database.prepare("SELECT id, amount FROM orders").all()).toEqual([
    { id: "7", amount: 9.5 },
  ]);
  database.close();
  rmSync(data, { recursive: true });
});

test("the test example runs and prints what its comments say", () => {
  const args = ["--conditions=tidegate-source", "examples/first-taste.ts"];
  const output = execFileSync(process.execPath, args, { cwd: root, encoding: "utf8" });
  expect(output).toBe("true\nfalse\n");
});

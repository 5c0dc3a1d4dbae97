import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { S3_ACTIONS } from "../../src/broker/wire/s3/s3-routes.ts";
import { isForQueueUrl, SQS_ACTIONS } from "../../src/broker/wire/sqs-actions.ts";
import { createWire } from "../support/scripted-broker.ts";
import { rowsOf } from "./markdown-table.ts";

const PAGE = readFileSync(new URL("../../docs/reference/aws-actions.md", import.meta.url), "utf8");

/** The lines below a heading, up to the next. */
const section = (heading: string) => PAGE.split(`\n## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";

const ROWS = section("SQS")
  .split("\n")
  .filter((line) => /^\| [A-Z][A-Za-z]+ \|/.test(line) && !line.startsWith("| Action"))
  .map((line) => line.split("|").map((cell) => cell.trim()));

test("the page lists exactly the actions there are, in their order", () => {
  const names = SQS_ACTIONS.map(({ name }) => name).sort();
  expect(ROWS.map(([, name]) => name)).toEqual(names);
});

test.each(SQS_ACTIONS)("the page tells what $name gives and where it may be called", (action) => {
  const row = ROWS.find(([, name]) => name === action.name)!;
  const told = [...row[3]!.matchAll(/`(\w+)`/g)].map(([, field]) => field);
  expect(told).toEqual(Object.keys(action.output?.fields ?? {}));
  expect(row[6]).toBe(isForQueueUrl(action) ? "yes" : "no");
});

test.each(SQS_ACTIONS)("$name is known in both protocols, as the page says", async ({ name }) => {
  const row = ROWS.find(([, action]) => action === name)!;
  expect([row[4], row[5]]).toEqual(["yes", "yes"]);
  const wire = createWire();
  const replies = [await wire.json(name, {}), await wire.form({ Action: name })];
  for (const reply of replies) {
    expect(reply.text).not.toContain("UnknownOperationException");
    expect(reply.text).not.toContain("InvalidAction");
  }
});

const PLACES = { service: "/", bucket: "/BUCKET", object: "/BUCKET/KEY" } as const;

test("the page lists exactly the actions of S3, and how each is asked", () => {
  const told = rowsOf(section("S3"), "Action").map(([name, , asked]) => [name, asked]);
  const known = S3_ACTIONS.map(({ name, method, at, query, header }) => {
    const asked = `\`${method} ${PLACES[at]}${query === undefined ? "" : `?${query.join("&")}`}\``;
    return [name, header === undefined ? asked : `${asked} with \`${header}\``];
  });
  expect(told).toEqual(known.toSorted(([a = ""], [b = ""]) => (a < b ? -1 : 1)));
});

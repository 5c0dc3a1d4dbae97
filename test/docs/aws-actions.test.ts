import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { PARAMETERS } from "../../src/broker/wire/s3/parameters/parameter-table.ts";
import { S3_ACTIONS } from "../../src/broker/wire/s3/s3-routes.ts";
import { SNS_ACTIONS } from "../../src/broker/wire/sns/sns-actions.ts";
import { isForQueueUrl, SQS_ACTIONS } from "../../src/broker/wire/sqs/sqs-actions.ts";
import { STS_ACTIONS } from "../../src/broker/wire/sts/sts-actions.ts";
import { rowsOf } from "../support/markdown-table.ts";
import { createWire } from "../support/scripted-broker.ts";

const PAGE = readFileSync(new URL("../../docs/reference/aws-actions.md", import.meta.url), "utf8");

/** The lines below a heading, up to the next. */
function sectionOf(heading: string): string {
  return PAGE.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? "";
}

/** The rows of the table below a heading. */
function rowsBelow(heading: string): string[][] {
  return sectionOf(heading)
    .split("\n")
    .filter((line) => /^\| [A-Z][A-Za-z]+ \|/.test(line) && !line.startsWith("| Action"))
    .map((line) => line.split("|").map((cell) => cell.trim()));
}

const SQS_ROWS = rowsBelow("SQS");
const SNS_ROWS = rowsBelow("SNS");
const STS_ROWS = rowsBelow("STS");

const returnedBy = (row: string[]) => [...row[3]!.matchAll(/`(\w+)`/g)].map(([, field]) => field);

test.each([
  ["SQS", SQS_ROWS, SQS_ACTIONS],
  ["SNS", SNS_ROWS, SNS_ACTIONS],
  ["STS", STS_ROWS, STS_ACTIONS],
] as const)("the page lists exactly the actions of %s, in order", (_, rows, actions) => {
  const names = actions.map(({ name }) => name).sort();
  expect(rows.map(([, name]) => name)).toEqual(names);
});

test.each(SQS_ACTIONS)("the page lists what $name returns and where it may be called", (action) => {
  const row = SQS_ROWS.find(([, name]) => name === action.name)!;
  expect(returnedBy(row)).toEqual(Object.keys(action.output?.fields ?? {}));
  expect(row[6]).toBe(isForQueueUrl(action) ? "yes" : "no");
});

test.each(SQS_ACTIONS)("$name works in both protocols, as the page says", async ({ name }) => {
  const row = SQS_ROWS.find(([, action]) => action === name)!;
  expect([row[4], row[5]]).toEqual(["yes", "yes"]);
  const wire = createWire();
  const replies = [await wire.json(name, {}), await wire.form({ Action: name })];
  for (const reply of replies) {
    expect(reply.text).not.toContain("UnknownOperationException");
    expect(reply.text).not.toContain("InvalidAction");
  }
});

test.each(SNS_ACTIONS)(
  "the page lists what $name of SNS returns, and SNS supports it",
  async (action) => {
    const row = SNS_ROWS.find(([, name]) => name === action.name)!;
    expect(returnedBy(row)).toEqual(Object.keys(action.output?.fields ?? {}));
    const parameters = { Action: action.name, Version: "2010-03-31" };
    const reply = await createWire().form(parameters);
    expect(reply.text).toContain("sns.amazonaws.com");
    expect(reply.text).not.toContain("InvalidAction");
  },
);

test.each(STS_ACTIONS)("the page lists what $name of STS returns", async (action) => {
  const row = STS_ROWS.find(([, name]) => name === action.name)!;
  expect(returnedBy(row)).toEqual(Object.keys(action.output?.fields ?? {}));
  const reply = await createWire().form({ Action: action.name, Version: "2011-06-15" });
  for (const field of returnedBy(row)) expect(reply.text).toContain(`<${field}>`);
});

test("the page of differences lists every parameter of S3 that is ignored", () => {
  const page = readFileSync("docs/reference/aws-differences.md", "utf8");
  const [, section = ""] = page.split("### Ignored parameters");
  const listed = [...section.matchAll(/`(x-amz-[a-z-]+\*?)`/g)].map(([, name = ""]) => name);
  const ignored = PARAMETERS.filter(({ use }) => use === "harmless").flatMap(({ names }) => names);
  const isListed = (name: string) =>
    listed.some(
      (each) => each === name || (each.endsWith("*") && name.startsWith(each.slice(0, -1))),
    );
  expect(ignored.filter((name) => !isListed(name))).toEqual([]);
});

const PLACES = { service: "/", bucket: "/BUCKET", object: "/BUCKET/KEY" } as const;

test("the page lists exactly the actions of S3, with their requests", () => {
  const listed = rowsOf(sectionOf("S3"), "Action").map(([name, , asked]) => [name, asked]);
  const actions = S3_ACTIONS.map(({ name, method, at, query, header }) => {
    const asked = `\`${method} ${PLACES[at]}${query === undefined ? "" : `?${query.join("&")}`}\``;
    return [name, header === undefined ? asked : `${asked} with \`${header}\``];
  });
  expect(listed).toEqual(actions.toSorted(([a = ""], [b = ""]) => (a < b ? -1 : 1)));
});

// Every header and query parameter that AWS's model gives to an action of S3 that we have: it is
// honoured, or refused without an effect, or ignored for a written reason.

import * as sdk from "@aws-sdk/client-s3";
import { expect, test } from "vitest";
import type { ParameterRow } from "../../../src/broker/wire/s3/parameters/parameter-row.ts";
import { PARAMETERS } from "../../../src/broker/wire/s3/parameters/parameter-table.ts";
import { S3_ACTIONS } from "../../../src/broker/wire/s3/s3-routes.ts";
import { useBuckets } from "../../support/s3-buckets.ts";
import { probesOf, replyText } from "./parameter-probes.ts";
import { createWorld, outcomeOf, request, stateOf } from "./parameter-requests.ts";

const buckets = useBuckets();
const ACTIONS = S3_ACTIONS.map(({ name }) => name);

/** The kind of an operation in the schemas of the SDK. */
const OPERATION = 9;

/** The headers and query parameters of an action in the SDK's model; prefixes end in a hyphen. */
function modelOf(action: string): string[] {
  const schema = Object.values(sdk as object).find(
    (each) => Array.isArray(each) && each[0] === OPERATION && each[2] === action,
  ) as unknown[];
  const input = (schema[4] as () => unknown[])();
  const members = input[5] as unknown[];
  return members.flatMap((member) => {
    const traits = Array.isArray(member) ? member[1] : null;
    if (typeof traits !== "object" || traits === null) return [];
    const { httpHeader, httpPrefixHeaders, httpQuery } = traits as Record<string, string>;
    if (httpQuery !== undefined) return [`?${httpQuery}`];
    return (httpHeader ?? httpPrefixHeaders)?.toLowerCase() ?? [];
  });
}

function rowOf(name: string, action: string): ParameterRow | undefined {
  const described = S3_ACTIONS.find((each) => each.name === action)!;
  return PARAMETERS.find(
    ({ names, actions }) =>
      names.includes(name) &&
      (typeof actions === "function" ? actions(described) : actions.includes(action)),
  );
}

function parametersOf(action: string, use: ParameterRow["use"]): string[] {
  return modelOf(action).filter((name) => rowOf(name, action)?.use === use);
}

test("the table has every parameter that AWS's model gives to an action", () => {
  const missing = ACTIONS.flatMap((action) =>
    modelOf(action)
      .filter((name) => rowOf(name, action) === undefined)
      .map((name) => `${action} ${name}`),
  );
  expect(missing).toEqual([]);
  expect(ACTIONS.flatMap(modelOf).length).toBeGreaterThan(250);
});

test("a parameter that is ignored has a reason, and one that is refused has a check", () => {
  for (const { names, use, reason, check } of PARAMETERS) {
    expect([names, reason !== undefined]).toEqual([names, use === "harmless"]);
    if (use === "refused") expect([names, typeof check]).toEqual([names, "function"]);
  }
});

test("no name is twice in the table for one action", () => {
  const names = S3_ACTIONS.flatMap((action) =>
    PARAMETERS.filter(({ actions }) =>
      typeof actions === "function" ? actions(action) : actions.includes(action.name),
    ).flatMap((row) => row.names.map((name) => `${action.name} ${name}`)),
  );
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

const REFUSING = ACTIONS.filter((action) => parametersOf(action, "refused").length > 0);

test.each(REFUSING)("%s refuses what it cannot honour, and changes nothing", async (action) => {
  const world = await createWorld(buckets);
  const before = await stateOf(buckets, world);
  for (const name of parametersOf(action, "refused")) {
    const reply = await request(buckets, world, action, { [name]: "1" });
    expect([name, [400, 501].includes(reply.status)]).toEqual([name, true]);
  }
  expect(await stateOf(buckets, world)).toBe(before);
});

const HONOURING = ACTIONS.filter((action) => parametersOf(action, "honoured").length > 0);

test.each(HONOURING)("%s honours each parameter it accepts", async (action) => {
  const shared = await createWorld(buckets);
  const before = await stateOf(buckets, shared);
  for (const name of parametersOf(action, "honoured")) {
    const probes = probesOf(name, action);
    expect([name, probes.length > 0]).toEqual([name, true]);
    for (const probe of probes) {
      const world = probe.status < 300 ? await createWorld(buckets) : shared;
      const parameters = { ...probe.with, [name]: probe.value };
      const reply = await request(buckets, world, action, parameters, probe.body);
      const what = `${name}: ${probe.value}`;
      expect([what, reply.status]).toEqual([what, probe.status]);
      // The response to a HEAD has no document with a code.
      if (!action.startsWith("Head"))
        expect([what, reply.code]).toEqual([what, probe.code ?? null]);
      if (probe.status >= 300) continue;
      const text = replyText(await outcomeOf(buckets, world, action, reply));
      if (probe.shows !== undefined) expect(text).toMatch(probe.shows);
      if (probe.hides !== undefined) expect(text).not.toMatch(probe.hides);
    }
  }
  expect(await stateOf(buckets, shared)).toBe(before);
});

const HARMLESS_VALUES: Readonly<Record<string, string>> = {
  "x-amz-acl": "private",
  "x-amz-server-side-encryption": "aws:kms",
  "x-amz-optional-object-attributes": "RestoreStatus",
};

const IGNORING = ACTIONS.filter((action) => parametersOf(action, "harmless").length > 0);

test.each(IGNORING)("%s is the same with a parameter that it ignores", async (action) => {
  const plain = await request(buckets, await createWorld(buckets), action);
  for (const name of parametersOf(action, "harmless")) {
    const value = HARMLESS_VALUES[name] ?? "1";
    const reply = await request(buckets, await createWorld(buckets), action, { [name]: value });
    expect([name, reply.status]).toEqual([name, plain.status]);
  }
});

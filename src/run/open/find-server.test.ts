import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { createMemoryLedger } from "../../stores/memory/ledger.ts";
import { createMemoryOutbox } from "../../stores/memory/outbox.ts";
import {
  type AwsService,
  chooseEndpoint,
  clientOptions,
  findServer,
  ledgerUrl,
  type Server,
} from "./find-server.ts";

const clock = new ManualClock();
const all = { AWS_ENDPOINT_URL: "http://all" };
const sqs = { AWS_ENDPOINT_URL_SQS: "http://sqs" };
const cloud = { data: ".tidegate", endpoint: "http://127.0.0.1:4566", failure: null };
const silent = { ...cloud, failure: "http://127.0.0.1:4566 did not answer within 10 s" };
const nowhere: Server = { cloud: null };

describe("the endpoint of a service", () => {
  type Row = readonly [string, AwsService, Server, Record<string, string>, string, string?];
  const rows: readonly Row[] = [
    ["AWS if nothing names another", "SQS", nowhere, {}, "default"],
    [
      "the option before anything",
      "S3",
      { endpoint: "http://set", cloud },
      { ...all, ...sqs },
      "option",
      "http://set",
    ],
    [
      "its own variable before the one for all",
      "SQS",
      { cloud },
      { ...all, ...sqs },
      "variable",
      "http://sqs",
    ],
    [
      "the variable for all before the cloud",
      "S3",
      { cloud },
      { ...all, ...sqs },
      "variable",
      "http://all",
    ],
    [
      "the cloud, although another service has a variable",
      "SNS",
      { cloud },
      sqs,
      "cloud",
      cloud.endpoint,
    ],
    ["the cloud for SQS", "SQS", { cloud }, {}, "cloud", cloud.endpoint],
    ["the cloud for S3", "S3", { cloud }, {}, "cloud", cloud.endpoint],
    ["AWS for a service that the cloud has not", "DYNAMODB", { cloud }, {}, "default"],
    ["AWS for ECS beside a cloud", "ECS", { cloud }, sqs, "default"],
    [
      "the cloud if a variable is empty",
      "S3",
      { cloud },
      { AWS_ENDPOINT_URL: "" },
      "cloud",
      cloud.endpoint,
    ],
    [
      "AWS if variables are to be ignored",
      "S3",
      nowhere,
      { ...all, AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: "true" },
      "default",
    ],
    [
      "the option beside a silent cloud",
      "SQS",
      { endpoint: "http://set", cloud: silent },
      {},
      "option",
      "http://set",
    ],
    ["a variable beside a silent cloud", "SQS", { cloud: silent }, sqs, "variable", "http://sqs"],
    ["AWS for a service that a silent cloud has not", "DYNAMODB", { cloud: silent }, {}, "default"],
  ];
  test.each(rows.map((row) => [row[0], row] as const))("is %s", (_, row) => {
    const [, service, server, variables, source, endpoint] = row;
    const chosen = chooseEndpoint(service, server, variables);
    expect(chosen).toMatchObject({ source, endpoint });
  });

  test("is an error, and not AWS, if the cloud runs and does not answer (F4)", () => {
    const message =
      "the cloud of .tidegate runs, but http://127.0.0.1:4566 did not answer within 10 s; " +
      "wait for it or stop it, or name another server with the option endpoint";
    for (const service of ["SQS", "SNS", "S3"] as const) {
      const error = expect.objectContaining({ code: "TG_QUEUE_UNAVAILABLE", message });
      expect(() => chooseEndpoint(service, { cloud: silent }, {})).toThrow(error);
    }
  });

  test("is an error that names no cloud if only the lock of the folder is known (F4)", () => {
    const failure = "no endpoint.json says where a cloud answers";
    const locked = { data: ".tidegate", endpoint: null, failure };
    const message =
      `the data folder .tidegate is in use by another process, and ${failure}; ` +
      "wait for it or stop it, or name another server with the option endpoint";
    const error = expect.objectContaining({ code: "TG_QUEUE_UNAVAILABLE", message });
    expect(() => chooseEndpoint("SQS", { cloud: locked }, {})).toThrow(error);
  });

  test.each(["", "127.0.0.1:4566", "localhost:4566", "ftp://host", "http://"])(
    "is refused if it is %j",
    (endpoint) => {
      const message = expect.stringContaining("is not an endpoint; use a URL such as");
      const error = expect.objectContaining({ code: "TG_CONFIG_INVALID", message });
      expect(() => chooseEndpoint("SQS", { endpoint, cloud }, all)).toThrow(error);
    },
  );
});

describe("the cloud of a data folder", () => {
  let data = "";
  beforeEach(() => {
    data = mkdtempSync(join(tmpdir(), "tidegate-find-server-"));
    // Nothing listens on port 1, so a cloud that is looked for has a failure.
    const entry = { endpoint: "http://127.0.0.1:1", pid: process.pid };
    writeFileSync(join(data, "endpoint.json"), JSON.stringify(entry));
  });
  afterEach(() => rmSync(data, { recursive: true }));

  test.each([
    ["counts with the ledger of the folder", () => ({ ledger: ledgerUrl({ data }) }), {}, true],
    [
      "counts if the folder's ledger is named otherwise",
      () => ({ ledger: `sqlite:${data}/./ledger.db` }),
      {},
      true,
    ],
    ["does not count with another ledger", () => ({ ledger: "postgres://host/db" }), {}, false],
    ["does not count with another outbox", () => ({ outbox: "sqlite:app.db" }), {}, false],
    ["is not looked at if an option decides", () => ({ endpoint: "http://set" }), {}, false],
    ["is not looked at if a variable decides everything", () => ({}), all, false],
    ["counts if a variable decides one service", () => ({}), sqs, true],
    ["does not exist without a folder", () => ({ data: null }), {}, false],
    ["counts with an open outbox", () => ({ outbox: createMemoryOutbox({ clock }) }), {}, true],
    [
      "does not count with an open ledger and another outbox",
      () => ({ ledger: createMemoryLedger({ clock }), outbox: "sqlite:app.db" }),
      {},
      false,
    ],
  ] as const)("%s", async (_, location, variables, counts) => {
    const server = await findServer({ data, ...location() }, variables);
    expect(server.cloud?.endpoint).toBe(counts ? "http://127.0.0.1:1" : undefined);
  });
});

describe("the region of a server on this machine", () => {
  afterEach(() => vi.unstubAllEnvs());

  const rows: readonly [string, Record<string, string>, string | undefined, string][] = [
    ["us-east-1, with credentials too", { AWS_ACCESS_KEY_ID: "any" }, undefined, "us-east-1"],
    ["us-east-1 if the variable is empty", { AWS_REGION: "" }, undefined, "us-east-1"],
    ["that of the variable", { AWS_REGION: "eu-west-1" }, undefined, "eu-west-1"],
    ["that of the option", { AWS_REGION: "eu-west-1" }, "eu-north-1", "eu-north-1"],
  ];
  test.each(rows)("is %s (F6)", (_, variables, region, expected) => {
    vi.stubEnv("AWS_REGION", undefined);
    vi.stubEnv("AWS_ACCESS_KEY_ID", undefined);
    for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
    const server = { endpoint: "http://127.0.0.1:4566", region, cloud: null };
    expect(clientOptions("SQS", server).region).toBe(expected);
    expect(clientOptions("SQS", { endpoint: "https://host", cloud: null }).region).toBe(
      variables.AWS_REGION || undefined,
    );
  });
});

// Who may call the console: checks of Host and Origin, tokens, read-only servers, and what stays
// true while the queues fail. `tidegate console` as a function, on the ledger and endpoint of a
// pipeline that runs elsewhere.

import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type RunningDev, startDev } from "../../../src/api/run.ts";
import { type RunningConsole, startConsole } from "../../../src/console/start-console.ts";
import { pipeline } from "../../../src/ingest/spec/define-pipeline.ts";
import { consoleClient, plainCall } from "../../support/console-api-client.ts";
import { eventually } from "../../support/eventually.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const data = join(useTemporaryFolder("console-access"), "data");
const TOKEN = "a long secret";
let dev: RunningDev;
let server: RunningConsole;

const spec = pipeline({
  name: "files",
  source: { bucket: "files" },
  sink: () => undefined,
  handler({ object }, { emit }) {
    emit({ key: object.key });
  },
});

const onError = (error: unknown) => {
  throw error;
};

beforeAll(async () => {
  dev = await startDev(spec, { data, port: 0, metricsPort: 0 }, { onLogLine: () => {} });
  server = await startConsole({
    ledger: `sqlite:${join(data, "ledger.db")}`,
    endpoint: dev.endpoint,
    region: "us-east-1",
    queue: dev.queueName,
    pipeline: spec,
    port: 0,
    host: "127.0.0.1",
    token: TOKEN,
    onError,
  });
});

afterAll(async () => {
  await server?.close();
  await dev?.stop();
});

const at = (origin: string, path: string) => `${origin}/_tidegate${path}`;

test("a foreign name, a foreign origin and a cross-site request are refused", async () => {
  for (const origin of [dev.endpoint, server.origin]) {
    const auth = { authorization: `Bearer ${TOKEN}` };
    for (const headers of [
      { host: "evil.example" },
      { origin: "http://evil.example" },
      { "sec-fetch-site": "cross-site" },
    ]) {
      const given = { headers: { ...auth, ...headers } };
      for (const path of ["/api/v1/session", "/api/v1/records"]) {
        expect((await plainCall(at(origin, path), given)).status, path).toBe(403);
      }
    }
    expect((await plainCall(at(origin, "/api/v1/session"), { headers: auth })).status).toBe(200);
  }
});

test("a post needs a JSON content type, and a read-only console refuses every action", async () => {
  const api = consoleClient(dev.endpoint);
  const body = "{}";
  const form = { "content-type": "application/x-www-form-urlencoded" };
  const queue = `/queues/${dev.queueName}/purge`;
  expect((await api.call(queue, { method: "POST", body, headers: form })).status).toBe(415);
  const json = { "content-type": "Application/JSON" };
  expect((await api.call(queue, { method: "POST", body, headers: json })).status).toBe(403);
  for (const path of [queue, "/dead-letters/redrive", "/dead-letters/drop", "/late/release"]) {
    const { status, body: answer } = await api.post(path, {});
    expect(status).toBe(403);
    expect(answer.error.message).toBe("this console is read-only; start it with --allow-actions");
  }
  const put = await api.call("/buckets/files/objects?key=a", { method: "PUT", body: "a" });
  expect(put.status).toBe(403);
});

test("the page has a policy without inline script, and cannot be framed", async () => {
  const { headers } = await plainCall(at(dev.endpoint, "/console/../console"));
  expect(headers["content-security-policy"]).toMatch(
    /^default-src 'self';.*frame-ancestors 'none'/,
  );
  expect(headers["content-security-policy"]).not.toContain("unsafe");
  expect(headers["x-frame-options"]).toBe("DENY");
});

test("with a token, calls need it, and the one-time link works once", async () => {
  const session = at(server.origin, "/api/v1/session");
  expect((await plainCall(session)).status).toBe(401);
  const wrong = { headers: { authorization: "Bearer wrong" } };
  expect((await plainCall(session, wrong)).status).toBe(401);
  const first = await plainCall(server.link);
  expect(first.status).toBe(303);
  const [cookie = ""] = first.headers["set-cookie"] ?? [];
  expect(cookie).toMatch(/HttpOnly; SameSite=Strict$/);
  const headers = { cookie: cookie.split(";")[0] ?? "" };
  expect((await plainCall(session, { headers })).status).toBe(200);
  const second = await plainCall(server.link);
  expect(second.headers["set-cookie"]).toBeUndefined();
  const api = consoleClient(server.origin);
  expect((await api.post("/login", { token: "wrong" })).status).toBe(401);
  const login = await api.post("/login", { token: TOKEN });
  expect(login.headers["set-cookie"]).toHaveLength(1);
});

test("a console that others can reach does not start without a token", async () => {
  const options = { ledger: `sqlite:${join(data, "ledger.db")}`, queue: null, pipeline: null };
  const starting = startConsole({ ...options, port: 0, host: "0.0.0.0", onError });
  await expect(starting).rejects.toThrow("needs --console-token");
});

test("a console elsewhere shows the same records, and says what AWS does not have", async () => {
  await dev.put("a.csv", "a");
  await eventually(() => expect(dev.snapshot().committed).toBe(1));
  const own = consoleClient(dev.endpoint);
  const headers = { authorization: `Bearer ${TOKEN}` };
  const api = consoleClient(server.origin);
  const records = await api.call("/records?search=s3://files/a.csv", { headers });
  expect(records.body).toEqual((await own.call("/records?search=s3://files/a.csv")).body);
  expect(records.body.records).toHaveLength(1);
  for (const path of ["/session", "/flow", "/queues", "/time", "/setup-check", "/runs"]) {
    expect((await api.call(path, { headers })).status, path).toBe(200);
  }
  const queue = await api.call(`/queues/${dev.queueName}`, { headers });
  expect(queue.body).toMatchObject({ role: "source", peekable: false });
  for (const path of ["/topics", "/buckets", `/queues/${dev.queueName}/messages`]) {
    expect((await api.call(path, { headers })).status, path).toBe(501);
  }
});

test("injected faults do not blind the console of the embedded cloud", async () => {
  const faults = `${dev.endpoint}/_tidegate/faults`;
  const headers = { "content-type": "application/json" };
  const fault = { kind: "unavailable", target: { queue: dev.queueName }, probability: 1 };
  const injected = await plainCall(faults, {
    method: "POST",
    body: JSON.stringify(fault),
    headers,
  });
  expect(injected.status, injected.text).toBeLessThan(300);
  try {
    const api = consoleClient(dev.endpoint);
    const { body: flow } = await api.call("/flow");
    const sink = flow.nodes.find(({ id }: { id: string }) => id === "sink");
    expect(sink.metrics.total).toBe(dev.snapshot().committed);
    expect(flow.problems.filter(({ id }: { id: string }) => id.startsWith("no-answer"))).toEqual(
      [],
    );
    expect((await api.call(`/queues/${dev.queueName}`)).status).toBe(200);
  } finally {
    await plainCall(faults, { method: "DELETE" });
  }
});

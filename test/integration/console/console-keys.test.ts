// The console of a cloud that checks signatures: who may call it, and that its actions work.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cloud, startCloud } from "../../../src/cloud/start-cloud.ts";
import type { ConsoleHttp } from "../../../src/console/api/console-http.ts";
import { mountConsole } from "../../../src/console/mount-console.ts";
import { consoleClient } from "../../support/console-api-client.ts";
import { AUTH } from "../../support/signed-requests.ts";

const TOKEN = "a long secret";
const PROXIED = { "x-forwarded-for": "10.0.0.9" };
const MESSAGES = "/queues/q/messages";

const onError = (error: unknown) => {
  throw error;
};

async function startWith(token: string | null) {
  const setup = { queues: [{ name: "q" }], buckets: [{ name: "files" }] };
  const cloud = await startCloud({ memory: true, auth: AUTH, setup });
  const options = { endpoint: cloud.endpoint, region: undefined, ledger: null, onError };
  const console = await mountConsole(cloud.inside, { ...options, token, allowActions: true });
  return { cloud, console, api: consoleClient(cloud.endpoint) };
}

let cloud: Cloud;
let console: ConsoleHttp;
let api: ReturnType<typeof consoleClient>;

describe.each([null, TOKEN])("with keys and the console token %s", (token) => {
  const headers: Record<string, string> =
    token === null ? {} : { authorization: `Bearer ${token}` };

  beforeAll(async () => {
    ({ cloud, console, api } = await startWith(token));
  });
  afterAll(async () => {
    await console?.close();
    await cloud?.close();
  });

  test("a request that a proxy passed on needs the token", async () => {
    const refused = token === null ? 403 : 401;
    expect((await api.call(MESSAGES, { headers: PROXIED })).status).toBe(refused);
    const proxied = await api.call(MESSAGES, { headers: { ...PROXIED, ...headers } });
    expect(proxied.status).toBe(token === null ? 403 : 200);
    expect((await api.call(MESSAGES, { headers })).status).toBe(200);
  });

  test("actions work, though the console does not sign them", async () => {
    const post = (path: string, order: object) => {
      const body = JSON.stringify(order);
      const json = { ...headers, "content-type": "application/json" };
      return api.call(path, { method: "POST", body, headers: json });
    };
    expect((await post("/queues/q/messages", { body: "m" })).status).toBeLessThan(300);
    const { body } = await api.call(MESSAGES, { headers });
    expect(body.messages).toMatchObject([{ body: "m" }]);
    expect((await post("/queues/q/purge", { confirm: "q" })).status).toBeLessThan(300);
    const put = { method: "PUT", body: "bytes", headers };
    const uploaded = await api.call("/buckets/files/objects?key=a", put);
    expect(uploaded.status, uploaded.text).toBeLessThan(300);
  });
});

test("an AWS request without a signature is still refused", async () => {
  const started = await startWith(null);
  const target = `${started.cloud.endpoint}/?Action=ListQueues&Version=2012-11-05`;
  expect((await fetch(target)).status).toBe(403);
  await started.console.close();
  await started.cloud.close();
});

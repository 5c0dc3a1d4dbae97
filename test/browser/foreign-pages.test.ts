// Foreign pages: what a web page in a real browser can do to the local endpoint. Nothing.

import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Cloud, startCloud } from "../../src/cloud/start-cloud.ts";
import { requirePart } from "../support/requires.ts";

const { chromium } = requirePart("chromium");
const BROWSER_MS_MAX = 60_000;
/** A name that the browser resolves to 127.0.0.1, as a name of an attacker would. */
const FOREIGN = "evil.test";

let cloud: Cloud;
let pages: Server;
let pagePort: number;
let profile: string;
const received: string[] = [];

beforeAll(async () => {
  const setup = { queues: [{ name: "secret-orders" }], buckets: [{ name: "vault" }] };
  cloud = await startCloud({ memory: true, setup });
  await fetch(`${cloud.endpoint}/vault/gold.txt`, { method: "PUT", body: "gold" });
  pages = createServer((request, response) => {
    if (request.method === "POST") received.push(request.url ?? "");
    response.setHeader("content-type", "text/html");
    response.end(ATTACK.replaceAll("PORT", String(cloud.port)));
  });
  await new Promise<void>((resolve) => pages.listen(0, "127.0.0.1", resolve));
  pagePort = (pages.address() as AddressInfo).port;
  profile = mkdtempSync(join(tmpdir(), "tidegate-browser-"));
});

afterAll(async () => {
  await cloud.close();
  await new Promise((resolve) => pages.close(resolve));
  rmSync(profile, { recursive: true, force: true });
});

/** Sends every kind of request that a page may send without asking, then shows the answers. */
const ATTACK = `<pre id="out">running</pre><script>
const target = "http://${FOREIGN}:PORT";
const loopback = "http://127.0.0.1:PORT";
const form = "Action=Subscribe&TopicArn=arn:aws:sns:us-east-1:000000000000:t&Protocol=http";
const tries = [
  () => fetch(target + "/?Action=CreateQueue&QueueName=pwned", { mode: "no-cors" }),
  () => fetch(loopback + "/?Action=CreateQueue&QueueName=pwned", { mode: "no-cors" }),
  () => fetch(target + "/?Action=CreateTopic&Name=pwned", { mode: "no-cors" }),
  () => fetch(target + "/vault/gold.txt").then((r) => r.text()),
  () => fetch(target, { method: "POST", mode: "no-cors", body: new URLSearchParams(form) }),
  () => fetch(target + "/_tidegate/queues").then((r) => r.text()),
  () => fetch(target + "/vault/gold.txt", { method: "DELETE", mode: "cors" }).then((r) => r.text()),
];
Promise.allSettled(tries.map((run) => run())).then((results) => {
  const shown = results.map((r) => (r.status === "fulfilled" ? String(r.value) : "failed"));
  document.getElementById("out").textContent = "done " + JSON.stringify(shown);
});
</script>`;

async function open(url: string): Promise<string> {
  const flags = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    `--user-data-dir=${profile}`,
    `--host-resolver-rules=MAP ${FOREIGN} 127.0.0.1`,
    "--virtual-time-budget=5000",
    "--dump-dom",
    url,
  ];
  const { stdout } = await promisify(execFile)(chromium, flags, { timeout: BROWSER_MS_MAX });
  return stdout;
}

async function queueNames(): Promise<string[]> {
  const reply = await fetch(`${cloud.endpoint}/_tidegate/queues`);
  return ((await reply.json()) as { queues: { name: string }[] }).queues.map(({ name }) => name);
}

test("a page of another site can neither change nor read anything", async () => {
  const page = await open(`http://${FOREIGN}:${pagePort}/`);
  const shown = /done (\[.*?\])</.exec(page)?.[1];
  expect(shown).toBeDefined();
  expect(shown).not.toContain("gold");
  expect(shown).not.toContain("secret-orders");
  expect(await queueNames()).toEqual(["secret-orders"]);
  const object = await fetch(`${cloud.endpoint}/vault/gold.txt`);
  expect(await object.text()).toBe("gold");
  expect(received).toEqual([]);
});

test("a name that was rebound to the loopback address reads nothing", async () => {
  const shown = await open(`http://${FOREIGN}:${cloud.port}/_tidegate/queues`);
  expect(shown).toContain("--allow-host evil.test");
  expect(shown).not.toContain("secret-orders");
});

test("a person who opens the endpoint by its own name is answered", async () => {
  const shown = await open(`http://localhost:${cloud.port}/_tidegate/queues`);
  expect(shown).toContain("secret-orders");
});

// Foreign pages: what a web page in a real browser can do to our servers on loopback. Nothing.

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Cloud, startCloud } from "../../src/cloud/start-cloud.ts";
import { mountConsole } from "../../src/console/mount-console.ts";
import { startConsole } from "../../src/console/start-console.ts";
import { startMetricsListener } from "../../src/run/metrics-listener.ts";
import { launchBrowser } from "../support/console-browser.ts";
import { eventually } from "../support/eventually.ts";
import { sampleOf } from "../support/full-size.ts";
import { HOST_FORMS } from "../support/host-forms.ts";
import {
  attackScript,
  type PageOutcome,
  type RecordingProxy,
  startRecordingProxy,
} from "../support/page-attacks.ts";
import { requirePart } from "../support/requires.ts";
import { useTemporaryFolder } from "../support/temporary-folder.ts";

const { chromium } = requirePart("chromium");
/** A name that the browser resolves to 127.0.0.1, as a name of an attacker would. */
const FOREIGN = "pages.test";

const folder = useTemporaryFolder("foreign-pages");
const closers: (() => Promise<unknown>)[] = [];
let cloud: Cloud;
let pages: Server;
let browser: Browser;
let proxies: { cloud: RecordingProxy; console: RecordingProxy; metrics: RecordingProxy };

const onError = (error: unknown) => {
  throw error;
};

async function startServers() {
  const queues = [{ name: "secret-orders" }, { name: "victim" }];
  cloud = await startCloud({ memory: true, setup: { queues, buckets: [{ name: "vault" }] } });
  const { endpoint } = cloud;
  closers.push(() => cloud.close());
  await fetch(`${endpoint}/vault/gold.txt`, { method: "PUT", body: "gold" });
  const ledger = `sqlite:${join(folder, "ledger.db")}`;
  const served = { ledger: null, endpoint, region: undefined, allowActions: true, onError };
  const mounted = await mountConsole(cloud.inside, served);
  closers.push(mounted.close);
  const options = { ledger, queue: null, pipeline: null, host: "127.0.0.1", port: 0, onError };
  const console = await startConsole(options);
  closers.push(console.close);
  const metrics = await startMetricsListener(
    {
      metrics: () => ({ text: "secret_figure 7\n", type: "text/plain" }),
      health: () => ({ ok: true, facts: { secret: "figure" } }),
      onError,
    },
    { port: 0 },
  );
  closers.push(metrics.close);
  return { cloud: endpoint, console: console.origin, metrics: metrics.origin };
}

beforeAll(async () => {
  if (chromium.endsWith("-is-missing")) return;
  const origins = await startServers();
  const proxyOf = async (origin: string) => {
    const proxy = await startRecordingProxy(Number(new URL(origin).port));
    closers.push(proxy.close);
    return proxy;
  };
  proxies = {
    cloud: await proxyOf(origins.cloud),
    console: await proxyOf(origins.console),
    metrics: await proxyOf(origins.metrics),
  };
  pages = createServer((_, response) => {
    response.setHeader("content-type", "text/html");
    response.end("<!doctype html><title>A page</title><body></body>");
  });
  await new Promise<void>((resolve) => pages.listen(0, "127.0.0.1", resolve));
  browser = await launchBrowser(chromium, ["--host-resolver-rules=MAP * 127.0.0.1"]);
});

afterAll(async () => {
  await browser?.close();
  pages?.closeAllConnections();
  pages?.close();
  for (const close of closers.reverse()) await close();
});

/** What a page could have changed. */
async function stateOf(): Promise<unknown> {
  const json = async (path: string) => (await fetch(`${cloud.endpoint}/_tidegate/${path}`)).json();
  const object = await fetch(`${cloud.endpoint}/vault/gold.txt`);
  const uploads = await fetch(`${cloud.endpoint}/vault?uploads`);
  const { broker } = cloud;
  return {
    queues: (await json("queues")).queues,
    topics: (await json("topics")).topics,
    faults: broker.faults.size,
    gold: await object.text(),
    uploads: (await uploads.text()).includes("<UploadId>"),
  };
}

const SENT = [...new Map(HOST_FORMS.map((form) => [form.sent, form])).values()].filter(
  ({ sent }) => sent !== null,
);
/** Hosts for which browsers declare that a page of another site sent a request. */
const isDeclared = (host: string) =>
  SENT.some((form) => form.sent === host && form.answered === "always");

test.each(sampleOf(6, SENT))(
  "a page of another site changes and reads nothing at $sent",
  async (form) => {
    const before = await stateOf();
    const page = await browser.newPage();
    await page.goto(`http://${FOREIGN}:${(pages.address() as AddressInfo).port}/`);
    const { cloud, console, metrics } = proxies;
    const ports = { cloud: cloud.port, console: console.port, metrics: metrics.port };
    const from = [cloud, console, metrics].map(({ arrived }) => arrived.length);
    const tag = `-${SENT.indexOf(form)}`;
    const { read, beacons } = (await page.evaluate(
      attackScript(form.written, ports, tag),
    )) as PageOutcome;
    const arrived = () =>
      [cloud, console, metrics].flatMap((proxy, at) => proxy.arrived.slice(from[at]));
    const isReached = arrived().length > 0;
    if (form.answered === "always") expect(isReached).toBe(true); // Or nothing below was tried.
    if (isReached) {
      await eventually(() =>
        expect(arrived().filter(({ url }) => url.endsWith("beacon"))).toHaveLength(beacons),
      );
    }
    await page.close();
    expect({ read, ...((await stateOf()) as object) }).toEqual({ read: [], ...(before as object) });
    expect(arrived().filter(({ status }) => status < 400)).toEqual([]);
    const undeclared = arrived().filter((each) => each.from === undefined);
    if (isDeclared(form.sent ?? "")) expect(undeclared).toEqual([]);
  },
);

test.each(SENT)(
  "a page that was rebound to $sent reads what the table says: $answered",
  async (form) => {
    const page = await browser.newPage();
    const texts = [
      [proxies.cloud, "/_tidegate/queues", "secret-orders"],
      [proxies.console, "/_tidegate/api/v1/session", "readOnly"],
      [proxies.metrics, "/metrics", "secret_figure"],
    ] as const;
    for (const [{ port }, path, secret] of texts) {
      await page.goto(`http://${form.written}:${port}${path}`);
      const text = await page.textContent("body");
      if (form.answered === "always") expect(text).toContain(secret);
      else expect(text).toMatch(/^\{"__type":"AccessDenied".*--allow-host/);
    }
    await page.close();
  },
);

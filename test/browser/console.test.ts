// Console: the web page in a real browser, against an API that answers as the OpenAPI file says.
// Names, bodies, errors and attributes of the answers contain script tags.

import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import {
  accessibilityFindings,
  LOOK_RULES,
  launchBrowser,
  overflowOf,
} from "../support/console-browser.ts";
import { FakeConsoleState } from "../support/console-fake-api.ts";
import { queuedMessage, T0 } from "../support/console-fixtures.ts";
import { type ConsolePageServer, startConsolePage } from "../support/console-page-server.ts";
import { CONSOLE_VIEWS as VIEWS } from "../support/console-views.ts";
import { sampleOf } from "../support/full-size.ts";
import { WAIT_MS_MAX } from "../support/patience.ts";
import { requirePart } from "../support/requires.ts";

const { chromium } = requirePart("chromium");
const BUNDLE_BYTES_MAX = 150_000;
/** Much longer than any answer takes, because the machine may be busy. */
const WIDE = { width: 1600, height: 1000 };
const NARROW = { width: 400, height: 860 };

let server: ConsolePageServer;
let browser: Browser;
let page: Page;
const complaints: string[] = [];

beforeAll(async () => {
  if (chromium.endsWith("-is-missing")) return;
  [server, browser] = await Promise.all([startConsolePage(), launchBrowser(chromium)]);
  page = await browser.newPage({ viewport: WIDE });
  page.setDefaultTimeout(WAIT_MS_MAX);
  page.on("console", (line) => {
    if (line.type() === "error") complaints.push(line.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
});

afterAll(async () => {
  await browser?.close();
  await server?.[Symbol.asyncDispose]();
});

beforeEach(async () => {
  server.state = new FakeConsoleState();
  server.down = false;
  complaints.length = 0;
  await page.setViewportSize(WIDE);
});

async function open(link: string): Promise<void> {
  await page.goto("about:blank");
  await page.goto(`${server.url}${link}`);
}

async function sees(text: string): Promise<void> {
  await page.getByText(text).first().waitFor();
}

const press = (name: string) => page.getByRole("button", { name, exact: true }).click();

/** The body of the page's first call of `path`. */
function bodyTo(path: string): unknown {
  return server.state.calls.find((call) => call.path === path)?.body;
}

test("the page with all its parts is at most 150 KB gzipped, and loads nothing from elsewhere", () => {
  const files = readdirSync(server.folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(server.folder, name))
    .filter((path) => statSync(path).isFile());
  const sizes = files.map((path) => gzipSync(readFileSync(path)).length);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(BUNDLE_BYTES_MAX);
  const html = readFileSync(join(server.folder, "index.html"), "utf8");
  expect(html).not.toMatch(/(src|href)="(https?:)?\/\//);
  expect(html).not.toMatch(/<script>|<style|style=/);
});

test.each(sampleOf(3, VIEWS))(
  "$link shows hostile texts as text, fits 400 and 1600 pixels, and axe finds nothing",
  async ({ link, data }) => {
    await page.emulateMedia({ colorScheme: "light" });
    await open(link);
    await sees(data);
    expect(await overflowOf(page)).toBe(0);
    expect(await accessibilityFindings(page)).toEqual([]);
    await page.setViewportSize(NARROW);
    await page.emulateMedia({ colorScheme: "dark" });
    expect(await overflowOf(page)).toBe(0);
    expect(await accessibilityFindings(page, LOOK_RULES)).toEqual([]);
    expect(await page.evaluate("window.hacked")).toBeUndefined();
    expect(await page.locator("main img, main script").count()).toBe(0);
    expect(complaints).toEqual([]);
  },
);

test.each(sampleOf(3, VIEWS))(
  "$link says what is wrong when the API refuses it",
  async ({ link, api }) => {
    server.state.refused = { path: api, status: 403 };
    await open(link);
    await page.getByRole("status").filter({ hasText: "--allow-actions" }).first().waitFor();
    expect(await page.evaluate("window.hacked")).toBeUndefined();
    server.state.refused = null;
    await page.getByRole("button", { name: "Try again" }).first().click();
    await page.getByRole("button", { name: "Try again" }).first().waitFor({ state: "detached" });
  },
);

test("characters that reorder or hide text are shown as escapes, and stay in what is edited", async () => {
  server.state.messages = [queuedMessage(1, "pay \u202eCBA to \u200bx")];
  server.state.objects = [{ key: "a\u200bb.csv", size: 1, etag: "e", lastModified: T0 }];
  await open("#/queues/stations-events");
  await page.locator("summary").first().click();
  await sees("pay \\u202eCBA to \\u200bx");
  const shown = await page.getByLabel("Message body").textContent();
  expect(shown).toBe("pay \\u202eCBA to \\u200bx");
  await open("#/buckets/stations");
  await sees("a\\u200bb.csv");
  const link = page.getByRole("link", { name: "a\\u200bb.csv" }).first();
  expect(await link.getAttribute("href")).toContain("%E2%80%8B");
});

test("without data, each view says what to do", async () => {
  server.state.empty = true;
  for (const { link, empty } of VIEWS) {
    if (empty === null) continue;
    await open(link);
    await sees(empty);
  }
});

test("numbers change without a reload, and nothing moves on the page", async () => {
  await open("#/flow");
  await sees("1,180");
  server.state.backlog = 777;
  await page.getByRole("link", { name: "777" }).waitFor();
  const shifts = `new Promise((resolve) => {
    let sum = 0;
    const observer = new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) sum += entry.hadRecentInput ? 0 : entry.value;
    });
    observer.observe({ type: "layout-shift", buffered: true });
    setTimeout(() => resolve(sum), 50);
  })`;
  expect(await page.evaluate(shifts)).toBeLessThan(0.1);
});

test("while the server is down, the page keeps its data, says so, and recovers by itself", async () => {
  await open("#/flow");
  await sees("1,180");
  server.down = true;
  await sees("no answer from the server");
  await sees("1,180");
  server.down = false;
  await page.getByText("no answer from the server").first().waitFor({ state: "detached" });
});

test("nothing on the picture of the flow leaves its box, from 400 to 1600 pixels", async () => {
  await open("#/flow");
  await sees("1,180");
  const outside = `[...document.querySelectorAll(".node")].flatMap((node) => {
    const edge = node.getBoundingClientRect().right;
    return [...node.querySelectorAll("*")]
      .filter((part) => part.getBoundingClientRect().right > edge)
      .map((part) => part.textContent);
  })`;
  for (let width = 400; width <= 1_600; width += 40) {
    await page.setViewportSize({ width, height: 1_000 });
    expect([width, await page.evaluate(outside)]).toEqual([width, []]);
  }
});

test("every number of the flow is a link to what it counts", async () => {
  await open("#/flow");
  await sees("1,180");
  const numbers = page.locator(".node dd");
  const count = await numbers.count();
  expect(count).toBeGreaterThan(10);
  expect(await page.locator(".node dd a[href^='#/']").count()).toBe(count);
  await page.locator(".node").filter({ hasText: "Retries" }).getByText("17").click();
  await page.waitForURL(/#\/records\?outcome=retrying$/);
});

test("a problem is shown with its fix and leads to the records behind it", async () => {
  await open("#/flow");
  await sees("Fix the cause, then redrive them.");
  await page.getByRole("link", { name: "Show" }).click();
  await page.waitForURL(/#\/dead-letters\?errorClass=schema$/);
});

test("a search has a link of its own, and leads to the timeline of a record", async () => {
  await open("#/records");
  await page.getByRole("searchbox").fill("BER01");
  await press("Search");
  await page.waitForURL(/search=BER01/);
  await page.reload();
  expect(await page.getByRole("searchbox").inputValue()).toBe("BER01");
  await page.getByRole("link", { name: /BER01\.csv/ }).click();
  await sees("upsert observation × 24");
});

test("dead letters are redriven by filter, with rate and automatic stop, and the job can be stopped", async () => {
  await open("#/dead-letters?errorClass=schema");
  await press("Redrive…");
  await page.getByLabel("Per second").fill("3");
  await press("Start redrive");
  await page.waitForURL(/#\/jobs\/job-1/);
  expect(bodyTo("/dead-letters/redrive")).toMatchObject({
    filter: { errorClass: "schema" },
    perSecond: 3,
    stopAfter: 5,
    stopPercent: 50,
  });
  await sees("running");
  await press("Stop");
  await sees("Stopped: cancelled");
});

test("a dry run lists what would be done and changes nothing", async () => {
  await open("#/dead-letters");
  await press("Dry run");
  await sees("Nothing was changed");
  expect(bodyTo("/dead-letters/redrive")).toEqual({ filter: {}, dryRun: true });
});

test("dead letters are dropped only after their number is typed", async () => {
  await open("#/dead-letters");
  await press("Drop…");
  await sees("The dry run found 12 dead letters.");
  const drop = page.getByRole("button", { name: "Drop 12 dead letters" });
  expect(await drop.isDisabled()).toBe(true);
  await page.getByLabel("Type 12 to confirm").fill("12");
  await drop.click();
  await page.waitForURL(/#\/jobs\/job-2/);
  const { body } = server.state.calls.findLast(({ path }) => path === "/dead-letters/drop") ?? {};
  expect(body).toEqual({ filter: {}, confirmCount: 12 });
});

test("an edited copy is sent as a new record, and the page looks for it", async () => {
  await open("#/dead-letters/schema%3A9f2c01aa77b0c3d4");
  await press("Edit and redrive a copy…");
  await page.getByLabel("Message body").fill('{"temperature":7}');
  await press("Send copy");
  await page.waitForURL(/#\/records\?search=copy-1$/);
  expect(bodyTo("/dead-letters/edit")).toEqual({ key: "k1:dead", body: '{"temperature":7}' });
});

test("a copy with masked values is not sent", async () => {
  await open("#/dead-letters/schema%3A9f2c01aa77b0c3d4");
  await press("Edit and redrive a copy…");
  await page.getByLabel("Message body").fill('{"observer":"***"}');
  await sees("Replace the masked values");
  expect(await page.getByRole("button", { name: "Send copy" }).isDisabled()).toBe(true);
});

test("a queue is peeked, sent to, redriven and, after its name is typed, purged", async () => {
  await open("#/queues/stations-dead-letters");
  await page.getByRole("group").first().click();
  await press("Send…");
  await page.getByRole("textbox", { name: "Body" }).fill("hello queue");
  await press("Send");
  await sees("hello queue");
  await press("Redrive…");
  await press("Start redrive");
  await sees("3 of 12");
  await press("Purge…");
  expect(await page.getByRole("button", { name: "Purge", exact: true }).isDisabled()).toBe(true);
  await page.getByLabel("Type stations-dead-letters to confirm").fill("stations-dead-letters");
  await press("Purge");
  await sees("No messages");
});

test("a dropped file is uploaded and followed to its outcome", async () => {
  await open("#/buckets/stations?prefix=observations%2F");
  await sees("Drop files here");
  await page.evaluate(`(() => {
    const transfer = new DataTransfer();
    transfer.items.add(new File(["a,b\\n"], "new.csv"));
    const drop = new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true });
    document.querySelector(".drop").dispatchEvent(drop);
  })()`);
  const row = page.getByRole("list", { name: "Uploads" });
  await row.getByText("committed").waitFor();
  const put = server.state.calls.find(({ method }) => method === "PUT");
  expect([put?.query.get("key"), put?.body]).toEqual(["observations/new.csv", "a,b\n"]);
  await row.getByRole("link", { name: /timeline of/ }).click();
  await page.waitForURL(/#\/records\/k1/);
});

test("held records are released as a job", async () => {
  await open("#/time");
  await press("Release…");
  await sees("The dry run found 12 records.");
  await press("Release");
  await page.waitForURL(/#\/jobs\/job-2/);
  const { body } = server.state.calls.findLast(({ path }) => path === "/late/release") ?? {};
  expect(body).toEqual({ filter: {}, confirmCount: 12 });
});

test("a pipeline is paused with a reason, says so, and is resumed", async () => {
  await open("#/flow");
  await press("Pause…");
  await page.getByLabel("Reason, for other operators").fill("sink migration");
  await press("Pause");
  await page.getByText("paused", { exact: true }).waitFor();
  expect(bodyTo("/pipeline/pause")).toEqual({ reason: "sink migration" });
  await press("Resume…");
  await sees("It was paused for: sink migration.");
  await press("Resume");
  await page.getByRole("button", { name: "Pause…" }).waitFor();
  server.state.refused = { path: /^\/pipeline\//, status: 409 };
  await press("Pause…");
  await press("Pause");
  await page.getByRole("dialog").getByText("--allow-actions").waitFor();
});

test("a record that waits is retried from its page, and a refusal is shown there", async () => {
  await open("#/records/k1%3Awaits");
  server.state.refused = { path: /\/retry$/, status: 409 };
  await press("Retry now");
  await page.getByRole("status").filter({ hasText: "--allow-actions" }).waitFor();
  server.state.refused = null;
  await press("Retry now");
  await sees("Its message is visible in stations-events again");
});

test("Time leads to the audits, and a statement to the records of its exceptions", async () => {
  await open("#/time");
  await page.getByRole("link", { name: "Audits", exact: true }).click();
  await page.getByRole("link", { name: "2026-03-02 11:00:00" }).click();
  await page.waitForURL(/#\/audits\/0192a0d1/);
  const exceptions = page.getByRole("table", { name: "Exceptions" });
  await exceptions.getByText("missing", { exact: true }).waitFor();
  await sees("2026-03-01 12:00:00 to 2026-03-02 11:00:00");
  await exceptions.getByRole("link").click();
  await page.waitForURL(/#\/records\?search=s3/);
  server.state.empty = true;
  await open("#/audits");
  await sees("tidegate audit pipeline.ts");
});

test("a replay is promoted after a confirmation, and dropped", async () => {
  await open("#/replays");
  await page.getByRole("link", { name: /^5e9a1c00/ }).click();
  await press("Promote…");
  await press("Promote");
  await sees("Promoted already");
  const run = "5e9a1c00-0000-7000-8000-000000000001";
  expect(bodyTo(`/replays/${run}/promote`)).toEqual({ confirm: run });
  await press("Drop…");
  await press("Drop");
  await sees("No replays");
});

test("records are listed from one event time to another, in a link of its own", async () => {
  await open("#/records?since=1700000000000");
  expect(await page.getByLabel("Event time from").inputValue()).toBe("2023-11-14T22:13:20");
  await page.getByLabel("and before").fill("2023-11-15T00:00:00");
  await press("Search");
  await page.waitForURL(/since=1700000000000&until=1700006400000/);
});

test("a read-only console disables every action and says why", async () => {
  server.state.readOnly = true;
  const actions = [
    ["#/dead-letters", ["Dry run", "Redrive…", "Drop…"]],
    ["#/dead-letters/schema%3A9f2c01aa77b0c3d4", ["Edit and redrive a copy…", "Edit copy…"]],
    ["#/queues/stations-events", ["Send…", "Purge…"]],
    ["#/buckets/stations", ["Choose files…"]],
    ["#/time", ["Release…"]],
    ["#/flow", ["Pause…"]],
    ["#/records/k1%3Awaits", ["Retry now"]],
    ["#/replays/5e9a1c00-0000-7000-8000-000000000001", ["Promote…", "Drop…"]],
  ] as const;
  for (const [link, names] of actions) {
    await open(link);
    for (const name of names) {
      const button = page.getByRole("button", { name, exact: true });
      await button.first().waitFor();
      expect(await button.first().isDisabled(), name).toBe(true);
    }
  }
  await sees("Read-only");
  expect(server.state.calls.filter(({ method }) => method !== "GET")).toEqual([]);
});

test("the keyboard reaches views and dialogs, and Escape closes a dialog", async () => {
  await open("#/flow");
  await sees("1,180");
  await page.getByRole("link", { name: "Dead letters", exact: false }).first().focus();
  await page.keyboard.press("Enter");
  await sees("Selection");
  expect(await page.evaluate("document.activeElement.id")).toBe("main");
  await page.getByRole("button", { name: "Redrive…" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  expect(await accessibilityFindings(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
});

test("a console that needs a token asks for it, and refuses a wrong one", async () => {
  server.state.token = "secret";
  await open("#/flow");
  await page.getByLabel(/^Token/).fill("wrong");
  await press("Open");
  await sees("the token is wrong");
  await page.getByLabel(/^Token/).fill("secret");
  await press("Open");
  await sees("1,180");
});

test("without an embedded cloud, topics and buckets are not offered, and messages not shown", async () => {
  server.state.embedded = false;
  await open("#/queues/stations-events");
  await sees("SQS shows messages only to receivers");
  expect(await page.getByRole("navigation", { name: "Views" }).getByText("Buckets").count()).toBe(
    0,
  );
});

// Console words: what people read in every view of the console, in every state of the API.

import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launchBrowser } from "../support/console-browser.ts";
import { FakeConsoleState } from "../support/console-fake-api.ts";
import { type ConsolePageServer, startConsolePage } from "../support/console-page-server.ts";
import { CONSOLE_VIEWS } from "../support/console-views.ts";
import { sampleOf } from "../support/full-size.ts";
import { requirePart } from "../support/requires.ts";

const { chromium } = requirePart("chromium");

type Json = Record<string, unknown>;
const job = (state: string, rest: Json = {}): Json => ({
  id: `job-${state}`,
  kind: "redrive",
  state,
  dryRun: false,
  startedAt: 0,
  endedAt: 1_000,
  total: 12,
  counts: { sent: 1, "failed-again": 2 },
  stoppedBecause: null,
  error: null,
  items: [{ at: 0, key: "k1:dead", name: "s3://stations/a.csv", step: "sent", detail: null }],
  ...rest,
});
const JOBS = [
  job("running", { endedAt: null, total: null }),
  job("done"),
  job("stopped", { stoppedBecause: "too many records failed again" }),
  job("failed", { error: "the ledger does not answer", items: [] }),
];
const LINKS = [
  ...CONSOLE_VIEWS.map(({ link }) => link),
  ...JOBS.map(({ id }) => `#/jobs/${id}`),
  "#/queues/stations-dead-letters",
  "#/no-such-view",
];

const ALL_VIEWS = /^\/(?!session)/;

/** What the API answers, by what is special about it. */
const STATES: Readonly<Record<string, Partial<FakeConsoleState>>> = {
  "with data": { jobs: JOBS, moveTasks: [moveTask("RUNNING"), moveTask("FAILED")] },
  "without data": { empty: true },
  "with null wherever a value may be null": { shape: "sparse", jobs: JOBS },
  "with lists that continue": { shape: "partial", jobs: JOBS },
  "that may only read": { readOnly: true, jobs: JOBS },
  "without an embedded cloud": { embedded: false },
  "of a paused pipeline": { paused: { since: 0, by: "an operator", reason: "a deployment" } },
  "without dead letters, replays or problems": { deadLetters: 0, replay: null, problems: [] },
  "that refuses every view": { refused: { path: ALL_VIEWS, status: 403 } },
  "that has none of it": { refused: { path: ALL_VIEWS, status: 501 } },
  "that asks for a token": { token: "secret" },
  "with masks": { shape: "masked", jobs: JOBS },
  "that does not answer": { withheld: { path: ALL_VIEWS, how: "cut" } },
  "that has not answered yet": { withheld: { path: ALL_VIEWS, how: "wait" } },
};

function moveTask(status: string): object {
  const failureReason = status === "FAILED" ? "the queue was deleted" : null;
  return { status, moved: 3, toMove: 12, startedAt: 0, destination: null, failureReason };
}

let server: ConsolePageServer;
let browser: Browser;
let page: Page;
let inFlight = 0;

beforeAll(async () => {
  if (chromium.endsWith("-is-missing")) return;
  [server, browser] = await Promise.all([startConsolePage(), launchBrowser(chromium)]);
  page = await browser.newPage({ viewport: { width: 1600, height: 1000 } });
  page.on("request", () => (inFlight += 1));
  page.on("requestfinished", () => (inFlight -= 1));
  page.on("requestfailed", () => (inFlight -= 1));
});

afterAll(async () => {
  await browser?.close();
  await server?.[Symbol.asyncDispose]();
});

const FRAME = "new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))";

/** Opens a view, and waits until it has rendered every answer that comes. */
async function open(link: string): Promise<void> {
  await page.goto("about:blank");
  await page.goto(`${server.url}${link}`);
  await page.locator("main > *").first().waitFor();
  if (server.state.withheld?.how === "wait") return void (await page.evaluate(FRAME));
  do {
    await page.locator("main .waiting").first().waitFor({ state: "detached" });
    await page.evaluate(FRAME);
  } while (inFlight > 0 || (await page.locator("main .waiting").count()) > 0);
}

/** Texts and labels of the page, element by element, without JSON that is shown as JSON. */
const TEXTS = `[...document.body.querySelectorAll("*"), document.body]
  .filter((element) => !["SCRIPT", "STYLE", "PRE"].includes(element.tagName))
  .flatMap((element) => [
    [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data).join(""),
    ...["aria-label", "title", "alt", "placeholder"].map((name) => element.getAttribute(name)),
  ])
  .filter((text) => text !== null && text.trim() !== "")`;

const WRONG = /\bundefined\b|\bNaN\b|\[object|\bInfinity\b|Invalid Date|\$\{/;
const CAMEL_CASE = /\b[a-z]+[A-Z]\w*/g;

/** Texts that no person should read. Words that the API answered are data, not the page's own. */
async function findings(link: string): Promise<string[]> {
  const texts: string[] = await page.evaluate(TEXTS);
  const data = server.state.answers.join("\n");
  const isOwn = (word: string) => !new RegExp(`"[^"]*\\b${word}\\b[^"]*"(?!:)`).test(data);
  return texts
    .filter((text) => WRONG.test(text) || (text.match(CAMEL_CASE) ?? []).some(isOwn))
    .map((text) => `${link}: ${text}`);
}

test.each(sampleOf(3, Object.entries(STATES)))(
  "every view of an API %s shows words, and no name or value of a program",
  async (_name, change) => {
    server.state = Object.assign(new FakeConsoleState(), change);
    const texts: string[] = [];
    for (const link of LINKS) {
      await open(link);
      texts.push(...(await findings(link)));
    }
    expect(texts).toEqual([]);
  },
);

test("every dialog shows words, and no name or value of a program", async () => {
  server.state = Object.assign(new FakeConsoleState(), STATES["with data"]);
  const opened: string[] = [];
  const texts: string[] = [];
  for (const link of LINKS) {
    await open(link);
    const buttons = page.getByRole("button", { name: /(?<!Choose files)…$/, disabled: false });
    const names = await buttons.allInnerTexts();
    for (const [index, name] of names.entries()) {
      await buttons.nth(index).click();
      await page.locator("dialog[open]").waitFor();
      opened.push(name);
      texts.push(...(await findings(`${link} ${name}`)));
      await page.keyboard.press("Escape");
      await page.locator("dialog[open]").waitFor({ state: "detached" });
    }
  }
  expect(texts).toEqual([]);
  expect(new Set(opened).size).toBeGreaterThan(8);
});

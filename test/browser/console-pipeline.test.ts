// Console on a pipeline: the page on the real API of a running pipeline. What it shows is what the
// ledger says, and its actions do what they say.

import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import stations from "../../examples/stations/pipeline.ts";
import { type RunningDev, startDev } from "../../src/api/run.ts";
import { describeHistory } from "../../src/operate/history/describe-history.ts";
import { openOperator } from "../../src/operate/open-operator.ts";
import { systemPorts } from "../../src/platform/index.ts";
import { openLedger } from "../../src/run/open/open-ledger.ts";
import { launchBrowser } from "../support/console-browser.ts";
import { WAIT_MS_MAX } from "../support/patience.ts";
import { requirePart } from "../support/requires.ts";
import { useTemporaryFolder } from "../support/temporary-folder.ts";

const { chromium } = requirePart("chromium");
const data = useTemporaryFolder("console-pipeline");
const GOOD = "station,time,temperature\nKIE06,2026-03-01T12:00:00Z,7.5\n";
const BROKEN = "station,time,temperature\nKIE06,2026-03-01T12:00:00Z,warm\n";

let dev: RunningDev;
let browser: Browser;
let page: Page;
const complaints: string[] = [];

beforeAll(async () => {
  if (chromium.endsWith("-is-missing")) return;
  const settings = { data, port: 0, metricsPort: 0, logLevel: "error" } as const;
  const access = { onLogLine: () => {}, console: { allowActions: true } };
  [dev, browser] = await Promise.all([
    startDev(stations, settings, access),
    launchBrowser(chromium),
  ]);
  page = await browser.newPage({ viewport: { width: 1_600, height: 1_000 } });
  page.setDefaultTimeout(WAIT_MS_MAX);
  page.on("console", (line) => {
    if (line.type() === "error") complaints.push(line.text());
  });
});

afterAll(async () => {
  await browser?.close();
  await dev?.stop();
});

const open = (link: string) => page.goto(`${dev.console}${link}`);

async function drop(name: string, text: string): Promise<void> {
  await page.evaluate(`(() => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([${JSON.stringify(text)}], ${JSON.stringify(name)}));
    const drop = new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true });
    document.querySelector(".drop").dispatchEvent(drop);
  })()`);
}

/** What `tidegate why` prints. */
async function whyOf(what: string): Promise<string> {
  const url = `sqlite:${join(data, "ledger.db")}`;
  const ledger = await openLedger(url, systemPorts, { readOnly: true });
  const [history] = await openOperator({ ledger }).history.find(what);
  await ledger.close();
  return history === undefined ? "" : describeHistory(history, what).join("\n");
}

test("an uploaded file is followed to its outcome, and the page says what the ledger says", async () => {
  await open("#/buckets/stations?prefix=observations%2F");
  await page.getByText("Drop files here").waitFor();
  await drop("good.csv", GOOD);
  const uploads = page.getByRole("list", { name: "Uploads" });
  await uploads.getByText("committed").waitFor();
  await uploads.getByRole("link", { name: /timeline of/ }).click();
  const text = page.getByLabel("Output of tidegate why");
  await text.waitFor();
  const why = await whyOf("s3://stations/observations/good.csv");
  expect(why).toContain("committed");
  expect(await text.textContent()).toBe(why);
  expect(complaints).toEqual([]);
});

test("a broken file becomes a dead letter that the page shows, counts and drops", async () => {
  await open("#/buckets/stations?prefix=observations%2F");
  await page.getByText("Drop files here").waitFor();
  await drop("broken.csv", BROKEN);
  await page.getByRole("list", { name: "Uploads" }).getByText("dead-lettered").waitFor();
  await open("#/dead-letters");
  await page
    .getByRole("link", { name: /temperature/ })
    .first()
    .click();
  await page.getByLabel("Sample stack").waitFor();
  await page.getByRole("button", { name: "Drop…" }).click();
  await page.getByLabel("Type 1 to confirm").fill("1");
  await page.getByRole("button", { name: "Drop 1 dead letter" }).click();
  await page.getByText("done").first().waitFor();
  await open("#/dead-letters");
  await page.getByText("No dead letters", { exact: true }).waitFor();
  expect(await whyOf("s3://stations/observations/broken.csv")).not.toContain("dead letter ");
  expect(complaints).toEqual([]);
});

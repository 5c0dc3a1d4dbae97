// Console screenshots: the console on the example of the weather stations, with dead letters, late
// files, a replay and audits, as PNG files. Needs Chromium.
//
//   npm run screenshots                   # the images of the guide, in docs/images
//   npm run screenshots -- --all FOLDER   # every view, 400 and 1600 px, light and dark

import { mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { uploads } from "../examples/stations/generate.ts";
import stations from "../examples/stations/pipeline.ts";
import { type RunningDev, startDev } from "../src/api/run.ts";
import { openOperator } from "../src/operate/open-operator.ts";
import { launchBrowser } from "../test/support/console-browser.ts";

const DOCS = join(import.meta.dirname, "../docs/images");
const DAYS = 10;
const DAY_MS = 86_400_000;
/** Of the files that the example generates. */
const FIRST_DAY = Date.UTC(2026, 2, 1);
const LATE_DAY = "2026-02-03";
const GUIDE_SIZE = { width: 1280, height: 800 };
const SIZES = [
  { width: 400, height: 860 },
  { width: 1600, height: 1000 },
];
/** The flow shows rates of the last seconds, so it is looked at for a while. */
const SETTLE_MS = 1_200;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

interface Shown {
  readonly dev: RunningDev;
  readonly run: string;
  readonly audit: string;
}

/** Dead letters, late files, an audit and a replay. */
async function fill(data: string): Promise<Shown> {
  const ledger = `sqlite:${join(data, "ledger.db")}`;
  const shown = {
    eventTime: { ...stations.eventTime, late: "hold", allowedLatenessMs: 0 },
    mask: [],
  };
  const held = { ...stations, ...shown } as unknown as typeof stations;
  const options = { onLogLine: () => {}, console: { allowActions: true } };
  const dev = await startDev(held, { data, port: 0, metricsPort: 0 }, options);
  for (const { key, body } of uploads({ days: DAYS })) {
    await dev.put(key, body);
    await dev.idle();
  }
  const [{ body } = { body: "" }] = uploads({ days: 1 });
  await dev.put(`observations/${LATE_DAY}/BER01 north, corrected.csv`, body);
  await dev.idle();
  await using operator = openOperator({ pipeline: held, ledger, endpoint: dev.endpoint });
  await operator.audits.run({ graceMs: 0 }).result();
  const pipeline = warmer(held);
  await using other = openOperator({ pipeline, ledger, endpoint: dev.endpoint });
  const all = {
    from: FIRST_DAY,
    to: FIRST_DAY + DAYS * DAY_MS,
    bucket: null,
    prefix: null,
    into: "shadow",
  };
  const { entry } = await other.replays.start(all as never).result();
  const api = `${dev.endpoint}/_tidegate/api/v1`;
  const { audits } = (await (await fetch(`${api}/audits`)).json()) as {
    audits: readonly { id: string }[];
  };
  return { dev, run: entry.run, audit: audits[0]?.id ?? "" };
}

/** The same pipeline with another result, so that a replay has something to compare. */
function warmer(pipeline: typeof stations): typeof stations {
  return {
    ...pipeline,
    handler: (event, context) => {
      const upsert: typeof context.upsert = (table, row) => {
        const warm = Number((row as { temperature?: unknown }).temperature ?? 0) > 12;
        context.upsert(table, warm ? { ...row, wind: 0 } : row);
      };
      return pipeline.handler(event, { ...context, upsert });
    },
  } as typeof stations;
}

async function firstOf(dev: RunningDev, path: string, list: string, name: string) {
  const answer = await fetch(`${dev.endpoint}/_tidegate/api/v1${path}`);
  const { [list]: items } = (await answer.json()) as Record<string, Record<string, string>[]>;
  return encodeURIComponent(items?.[0]?.[name] ?? "none");
}

/** Every view, by the name of its image. */
async function viewsOf({ dev, run, audit: id }: Shown): Promise<Record<string, string>> {
  const dead = await firstOf(dev, "/dead-letters", "groups", "id");
  const record = await firstOf(dev, "/records?outcome=dead-lettered", "records", "key");
  return {
    flow: "flow",
    queues: "queues",
    queue: "queues/stations-dead-letters",
    topics: "topics",
    buckets: "buckets",
    objects: "buckets/stations?prefix=observations/",
    records: "records",
    record: `records/${record}`,
    "dead-letters": "dead-letters",
    "dead-letter-group": `dead-letters/${dead}`,
    time: "time",
    replays: "replays",
    replay: `replays/${run}`,
    audits: "audits",
    audit: `audits/${id}`,
    runs: "runs",
    "setup-check": "setup",
  };
}

async function open(browser: Browser, dark: boolean, size: { width: number; height: number }) {
  const colorScheme = dark ? "dark" : "light";
  const context = await browser.newContext({ viewport: size, colorScheme });
  return context.newPage();
}

async function shoot(page: Page, address: string, path: string, fullPage = true): Promise<void> {
  await page.goto("about:blank");
  await page.goto(address);
  await page.waitForLoadState("networkidle").catch(() => undefined);
  await pause(SETTLE_MS);
  await save(page, path, fullPage);
}

async function save(page: Page, path: string, fullPage: boolean): Promise<void> {
  await page.screenshot({ path, fullPage });
  process.stdout.write(`${path}, ${Math.round(statSync(path).size / 1_000)} KB\n`);
}

async function shootAll(browser: Browser, shown: Shown, folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const views = await viewsOf(shown);
  for (const size of SIZES) {
    for (const dark of [false, true]) {
      const page = await open(browser, dark, size);
      for (const [name, path] of Object.entries(views)) {
        const file = `${name}-${size.width}-${dark ? "dark" : "light"}.png`;
        await shoot(page, `${shown.dev.console}#/${path}`, join(folder, file));
      }
      await page.context().close();
    }
  }
}

const GUIDE = ["flow", "dead-letters", "time", "audit", "replay"];

async function shootGuide(browser: Browser, shown: Shown): Promise<void> {
  const views = await viewsOf(shown);
  const page = await open(browser, false, GUIDE_SIZE);
  for (const name of GUIDE) {
    const file = join(DOCS, `console-${name}.png`);
    await shoot(page, `${shown.dev.console}#/${views[name]}`, file, false);
    if (name !== "dead-letters") continue;
    await page.getByRole("button", { name: "Redrive" }).click();
    await save(page, file, false);
  }
}

async function main([flag, folder]: readonly string[]): Promise<void> {
  const work = mkdtempSync(join(tmpdir(), "tidegate-screenshots-"));
  const browser = await launchBrowser(process.env.CHROMIUM ?? "chromium");
  const shown = await fill(join(work, "data"));
  try {
    if (flag === "--all" && folder !== undefined) await shootAll(browser, shown, folder);
    else await shootGuide(browser, shown);
  } finally {
    await browser.close();
    await shown.dev.stop();
    rmSync(work, { recursive: true, force: true });
  }
}

await main(process.argv.slice(2));

// Console browser: Debian's Chromium, driven by playwright-core, and what tests ask a page.

import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";

const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** `command` is a path, or a name to look for on the PATH. */
export function launchBrowser(command: string, flags: readonly string[] = []): Promise<Browser> {
  const folders = command.includes("/") ? [""] : (process.env.PATH ?? "").split(delimiter);
  const paths = folders.map((folder) => join(folder, command));
  const executablePath = paths.find((path) => existsSync(path)) ?? command;
  return chromium.launch({ executablePath, args: [...FLAGS, ...flags] });
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface AxeResults {
  readonly violations: readonly {
    readonly id: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
  }[];
}

const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
/** Rules whose result depends on the size of the window and on the colour scheme. */
export const LOOK_RULES = ["color-contrast", "target-size", "scrollable-region-focusable"];

/** What axe-core finds on the page, a line per finding. */
export async function accessibilityFindings(page: Page, runOnly = TAGS): Promise<string[]> {
  await page.evaluate(axe);
  const options = JSON.stringify({ runOnly, resultTypes: ["violations"] });
  const { violations } = (await page.evaluate(`axe.run(document, ${options})`)) as AxeResults;
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
  );
}

/** By how many pixels the page is wider than its window. */
export async function overflowOf(page: Page): Promise<number> {
  return (await page.evaluate(
    "Math.max(0, document.documentElement.scrollWidth - innerWidth)",
  )) as number;
}

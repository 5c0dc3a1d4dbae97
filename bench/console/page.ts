// Page: a process that looks at the console as a browser with open pages does: every view again and
// again, a second apart. A line "open" or "close" on its input opens or closes all pages. It prints
// the slowest answer of all when its input ends.

import { createInterface } from "node:readline";

const LOOK_MS = 1_000;
const [endpoint = "", ...views] = process.argv.slice(2);
let slowestMs = 0;
let isOpen = false;
let isEnding = false;

async function look(view: string): Promise<void> {
  while (!isEnding) {
    await new Promise((wake) => setTimeout(wake, LOOK_MS));
    if (!isOpen) continue;
    const startedAt = performance.now();
    const reply = await fetch(`${endpoint}/_tidegate/api/v1/${view}`);
    await reply.arrayBuffer();
    if (!reply.ok) throw new Error(`${view}: ${reply.status}`);
    slowestMs = Math.max(slowestMs, performance.now() - startedAt);
  }
}

const looking = views.map(look);
for await (const line of createInterface({ input: process.stdin })) isOpen = line === "open";
isEnding = true;
await Promise.all(looking);
console.log(slowestMs);

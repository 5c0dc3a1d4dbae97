// Page: a process that looks at the console as a browser does that has it open: at the flow every
// second, and at one of the other views every two seconds, in turn. A line "open" or "close" on its
// input opens or closes it. It prints the slowest answer when its input ends.

import { createInterface } from "node:readline";

const FLOW_MS = 1_000;
const VIEW_MS = 2_000;
const [endpoint = "", ...views] = process.argv.slice(2);
let slowestMs = 0;
let isOpen = false;
let isEnding = false;

async function look(view: string): Promise<void> {
  const startedAt = performance.now();
  const reply = await fetch(`${endpoint}/_tidegate/api/v1/${view}`);
  await reply.arrayBuffer();
  if (!reply.ok) throw new Error(`${view}: ${reply.status}`);
  slowestMs = Math.max(slowestMs, performance.now() - startedAt);
}

async function repeat(everyMs: number, next: () => string): Promise<void> {
  while (!isEnding) {
    await new Promise((wake) => setTimeout(wake, everyMs));
    if (isOpen) await look(next());
  }
}

let turn = 0;
const looking = [
  repeat(FLOW_MS, () => "flow"),
  repeat(VIEW_MS, () => {
    turn += 1;
    return views[turn % views.length] ?? "flow";
  }),
];
for await (const line of createInterface({ input: process.stdin })) isOpen = line === "open";
isEnding = true;
await Promise.all(looking);
console.log(slowestMs);

// Page: a process that looks at the console as a browser with four open pages does: every view
// again and again, a second apart. It prints the slowest answer of each view when its input ends.

const LOOK_MS = 1_000;
const [endpoint = "", ...views] = process.argv.slice(2);
const slowest: Record<string, number> = {};
let isOpen = true;
process.stdin.on("end", () => {
  isOpen = false;
});
process.stdin.resume();

async function look(view: string): Promise<void> {
  while (isOpen) {
    const startedAt = performance.now();
    const reply = await fetch(`${endpoint}/_tidegate/api/v1/${view}`);
    await reply.arrayBuffer();
    if (!reply.ok) throw new Error(`${view}: ${reply.status}`);
    slowest[view] = Math.max(slowest[view] ?? 0, performance.now() - startedAt);
    await new Promise((wake) => setTimeout(wake, LOOK_MS));
  }
}

await Promise.all(views.map(look));
console.log(JSON.stringify(slowest));

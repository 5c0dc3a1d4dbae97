import { expect, test } from "vitest";
import { EXIT_OK, EXIT_USAGE } from "./command.ts";
import { runCli } from "./run-cli.ts";

// The worlds of seeds 10, 22 and 23 are short.
async function run(...words: string[]) {
  const lines: string[] = [];
  const notes: string[] = [];
  const out = {
    terminal: false,
    line: (text: string) => void lines.push(text),
    note: (text: string) => void notes.push(text),
  };
  return { exit: await runCli(["sim", ...words], out), lines, notes };
}

test("a seed that is not a number gives one line and exit code 2", async () => {
  const { exit, lines, notes } = await run("--seed", "seven");
  expect(exit).toBe(EXIT_USAGE);
  expect(lines).toEqual([]);
  expect(notes).toHaveLength(1);
  expect(notes[0]).toMatch(/^--seed must be a whole number .*, not "seven"$/);
});

test("each seed runs once, on the requested number of threads, and the totals add up", async () => {
  const { exit, lines } = await run("--seeds", "2", "--jobs", "2", "--json");
  expect(exit).toBe(EXIT_OK);
  const verdicts = lines.map((line) => JSON.parse(line));
  const { totals } = verdicts.pop();
  expect(verdicts.map(({ seed }) => seed).sort()).toEqual([1, 2]);
  expect(totals.seeds).toBe(2);
  expect(totals.deliveries).toBe(verdicts.reduce((sum, { deliveries }) => sum + deliveries, 0));
  const { deliveries, cpuSeconds, deliveriesPerCpuSecond } = totals;
  expect(cpuSeconds).toBeGreaterThan(0);
  expect(deliveriesPerCpuSecond).toBe(Math.round(deliveries / cpuSeconds));
});

test("a seed that was run again takes the same steps in another thread", async () => {
  const one = await run("--seed", "10", "--json");
  const two = await run("--seed", "10", "--json");
  expect(JSON.parse(one.lines[0] ?? "").traceHash).toMatch(/^[0-9a-f]{16}$/);
  expect(two.lines[0]).toBe(one.lines[0]);
});

test("a single seed that keeps every promise says so", async () => {
  const { exit, lines } = await run("--seed", "10");
  expect(exit).toBe(EXIT_OK);
  expect(lines.at(-1)).toBe("All guarantees held.");
});

test("a range of seeds starts at --first", async () => {
  const { exit, lines } = await run("--seeds", "2", "--first", "22", "--jobs", "1", "--json");
  expect(exit).toBe(EXIT_OK);
  const verdicts = lines.map((line) => JSON.parse(line)).slice(0, -1);
  expect(verdicts.map(({ seed }) => seed)).toEqual([22, 23]);
});

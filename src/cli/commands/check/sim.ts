// tidegate sim: runs seeds of the simulated world and reports violations.

import { availableParallelism } from "node:os";
import type { SeedVerdict } from "../../../sim/judge-seed.ts";
import { command, EXIT_FAILED, EXIT_OK, toggle, wholeNumber } from "../../command.ts";
import { createLiveScreen } from "../../screen/live-screen.ts";
import type { Output } from "../../screen/output.ts";
import { runSeeds } from "../../threads/sim-threads.ts";

const SEED_MAX = 999_999_999_999;
const BAR_CELLS = 30;
/** Progress lines in a pipe. */
const LINES_MAX = 20;

interface Totals {
  seeds: number;
  failing: number;
  deliveries: number;
  days: number;
  faults: number;
  /** CPU seconds so far, of all threads. */
  cpuSeconds: number;
}

export const sim = command({
  name: "sim",
  summary: "Run the whole system in a simulated world with injected faults, seed by seed.",
  flags: {
    seeds: wholeNumber("COUNT", { min: 1, max: 100_000_000 }, "1000", "How many seeds to run."),
    first: wholeNumber("SEED", { min: 0, max: SEED_MAX }, "1", "First seed of the range."),
    seed: wholeNumber("SEED", { min: 0, max: SEED_MAX }, null, "Run only this seed."),
    hours: wholeNumber(
      "HOURS",
      { min: 1, max: 168 },
      "1",
      "Virtual hours during which faults are injected.",
    ),
    jobs: wholeNumber("COUNT", { min: 1, max: 256 }, null, "Threads (default: one per core)."),
    json: toggle("Print each verdict, and the totals, as JSON lines."),
  },
  async run({ flags, out }) {
    const single = flags.seed !== undefined;
    const count = single ? 1 : (flags.seeds ?? 1);
    const hours = flags.hours ?? 1;
    const jobs = flags.jobs ?? availableParallelism();
    const totals: Totals = {
      seeds: 0,
      failing: 0,
      deliveries: 0,
      days: 0,
      faults: 0,
      cpuSeconds: 0,
    };
    const before = process.cpuUsage();
    const failed: SeedVerdict[] = [];
    const progress = createProgress(out, count, flags.json === true);
    await runSeeds({ first: flags.seed ?? flags.first ?? 1, count, hours, jobs }, (verdict) => {
      add(totals, verdict);
      totals.cpuSeconds = secondsOf(process.cpuUsage(before));
      if (verdict.violations.length > 0) failed.push(verdict);
      if (flags.json) out.line(JSON.stringify(verdict));
      progress.show(totals);
    });
    progress.close();
    if (flags.json)
      out.line(JSON.stringify({ totals: { ...totals, deliveriesPerCpuSecond: speedOf(totals) } }));
    else report(out, totals, failed, single);
    return failed.length === 0 ? EXIT_OK : EXIT_FAILED;
  },
});

function add(totals: Totals, verdict: SeedVerdict): void {
  totals.seeds += 1;
  totals.failing += verdict.violations.length > 0 ? 1 : 0;
  totals.deliveries += verdict.deliveries;
  totals.days += verdict.elapsedMs / 86_400_000;
  totals.faults += verdict.faults;
}

function secondsOf({ user, system }: NodeJS.CpuUsage): number {
  return (user + system) / 1_000_000;
}

/** Deliveries per CPU second, including the start of the threads. */
function speedOf({ deliveries, cpuSeconds }: Totals): number {
  return cpuSeconds === 0 ? 0 : Math.round(deliveries / cpuSeconds);
}

function describe({ seeds, deliveries, days, faults, failing }: Totals): string {
  const what = `${deliveries} deliveries, ${faults} faults, ${days.toFixed(1)} simulated days`;
  return `${seeds} seeds, ${what}, ${failing} failing`;
}

function report(
  out: Output,
  totals: Totals,
  failed: readonly SeedVerdict[],
  single: boolean,
): void {
  for (const { story } of failed) for (const line of [...story, ""]) out.line(line);
  out.line(describe(totals));
  out.line(`${speedOf(totals)} deliveries per CPU second`);
  const [only] = failed;
  if (single && only === undefined) out.line("All guarantees held.");
}

/** A bar on a terminal, some lines in a pipe, nothing with JSON. */
function createProgress(out: Output, count: number, silent: boolean) {
  if (silent) return { show() {}, close() {} };
  if (!out.terminal) {
    const every = Math.max(1, Math.ceil(count / LINES_MAX));
    return {
      show(totals: Totals) {
        if (count > 1 && totals.seeds % every === 0) out.note(describe(totals));
      },
      close() {},
    };
  }
  const screen = createLiveScreen(process.stdout);
  return {
    show(totals: Totals) {
      const full = Math.floor((totals.seeds / count) * BAR_CELLS);
      const bar = `${"█".repeat(full)}${"░".repeat(BAR_CELLS - full)}`;
      screen.show([`${bar} ${totals.seeds}/${count}`, describe(totals)]);
    },
    close: () => screen.close(),
  };
}

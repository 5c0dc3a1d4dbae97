// Prove handler: runs a pipeline's handler through crashes, duplicates, failures and lost leases at
// each of its points. Reports how many such schedules it survived, or the shortest that breaks it.
//   P1. The first runs have no faults, at two times and with two random seeds. All other runs must
//       have the same outcome.
//   P2. Schedules come in order of length (proof-schedule.ts), and of those that break a handler
//       the one with the fewest steps is reported.
//   P3. Nothing is claimed that was not run: samples that no handler finishes prove nothing.

import { createSeededRandom } from "../../core/seeded-random.ts";
import { durationMs } from "../../core/units.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import { installHandlerWatch } from "../../platform/handler-watch.ts";
import { afterRealTurns } from "../../platform/real-turns.ts";
import { systemTurn } from "../../platform/system-turn.ts";
import { createRowReader } from "../../readers/row-reader.ts";
import type { FetchStub, OutsideUse } from "./proof-handler.ts";
import { type ProofRecord, type ProofSample, proofInput } from "./proof-samples.ts";
import { drawSchedule, type ProofSchedule, pairs, singles } from "./proof-schedule.ts";
import { storyOf } from "./proof-story.ts";
import { judgeProof, type ProofProblem } from "./proof-verdict.ts";
import { PROOF_START_AT, type ProofSetup, type RunResult, runProof } from "./proof-world.ts";

export type { FetchStub, ProofSample };

/** Options of `proveHandler`; only `samples` is required. */
export interface ProveOptions {
  /** The records to run the handler on: { key, body } for objects, { payload } for messages. */
  readonly samples: readonly ProofSample[];
  /** Answers the handler's outside calls. Default: status 200 and {}. */
  readonly fetch?: FetchStub;
  /** Number of seeded schedules after the enumerated ones. Default: 100. */
  readonly seeds?: number;
  /** Called after every schedule. */
  readonly onProgress?: (progress: ProofProgress) => void;
}

/** Schedules run so far, and in total. */
export interface ProofProgress {
  readonly ran: number;
  readonly of: number;
}

/** The shortest schedule that breaks the handler. */
export interface ProofFailure {
  /** The sample that fails. */
  readonly record: string;
  /** What went wrong, in one sentence. */
  readonly problem: string;
  /** How to fix the handler. */
  readonly hint: string;
  /** Number of injected faults; 0 if the handler breaks without any. */
  readonly faults: number;
  /** The story, one sentence per step. */
  readonly steps: readonly string[];
}

/** The result of a proof. "nothing-proved": no sample succeeds even without faults. */
export interface ProofReport {
  readonly pipeline: string;
  readonly verdict: "survived" | "broken" | "nothing-proved";
  /** Number of samples. */
  readonly records: number;
  /** Points at which faults can be injected. */
  readonly points: number;
  /** Schedules that the handler survived. */
  readonly schedules: number;
  /** Null unless the verdict is "broken". */
  readonly failure: ProofFailure | null;
  /** Warnings that apply whatever the verdict is. */
  readonly warnings: readonly string[];
}

/** A handler does not survive a schedule, or nothing was proved. The message is the story. */
export class ProofError extends Error {
  override readonly name = "ProofError";
  readonly report: ProofReport;

  constructor(report: ProofReport) {
    super(proofText(report).join("\n"));
    this.report = report;
  }
}

/** Rejects with a ProofError unless the handler survives; works with any test runner. */
export async function proveHandler(
  pipeline: Pipeline,
  options: ProveOptions,
): Promise<ProofReport> {
  const report = await handlerProof(pipeline, options);
  if (report.verdict !== "survived") throw new ProofError(report);
  return report;
}

const SEEDS_DEFAULT = 100;
const PAIRS_PER_RECORD_MAX = 40;
/** More records add time, but hardly any new kinds of schedule. */
export const SAMPLES_MAX = 20;
const LATER_MS = 86_400_000 + 3_723_004;

/** As `proveHandler`, but returns the report whatever the verdict is. */
export async function handlerProof(
  pipeline: Pipeline,
  options: ProveOptions,
): Promise<ProofReport> {
  const uninstall = installHandlerWatch();
  try {
    return await new Proof(pipeline, options).report();
  } finally {
    uninstall();
  }
}

/** Readers never pause: a pause by real time would change the order of events between two runs. */
const STANDING_CLOCK = { monotonic: () => durationMs(0) };

interface Broken {
  readonly problem: ProofProblem;
  readonly faults: number;
  readonly steps: readonly string[];
}

class Proof {
  readonly #setup: ProofSetup;
  readonly #options: ProveOptions;
  readonly #records: readonly ProofRecord[];
  readonly #uses = new Map<string, OutsideUse>();
  readonly #warnings: string[] = [];
  #survived = 0;
  #points = 0;
  #planned = 0;

  constructor(pipeline: Pipeline, options: ProveOptions) {
    const input = proofInput(pipeline, options.samples.slice(0, SAMPLES_MAX));
    const answer = options.fetch ?? (() => Response.json({}));
    const rows = createRowReader({ clock: STANDING_CLOCK, turn: systemTurn });
    this.#setup = { pipeline, input, rows, fetch: answer, settle: afterRealTurns };
    this.#options = options;
    this.#records = input.records;
    const ignored = options.samples.length - this.#records.length;
    if (ignored > 0) {
      this.#warnings.push(`${ignored} samples ignored; the limit is ${SAMPLES_MAX}`);
    }
  }

  async report(): Promise<ProofReport> {
    const baselines: { record: ProofRecord; baseline: RunResult }[] = [];
    for (const record of this.#records) {
      const baseline = await this.#run([record], []);
      const socket = baseline.uses.find(({ use }) => use === "socket");
      if (socket !== undefined) return this.#broken(this.#socketProblem(record, socket, baseline));
      if (baseline.stuck) return this.#broken(this.#stuckProblem(record, baseline));
      if (baseline.ends.get(record.name) !== "committed") {
        const why = baseline.failures.get(record.name) ?? "it did not finish";
        this.#warnings.push(`${record.title} fails even without faults: ${why}`);
      } else baselines.push({ record, baseline });
    }
    if (baselines.length === 0) return this.#report("nothing-proved", null); // P3
    const { seeds = SEEDS_DEFAULT } = this.#options;
    this.#planned = seeds + baselines.length;
    for (const { baseline } of baselines) this.#planned += this.#plan(baseline).length;
    for (const { record, baseline } of baselines) {
      const broken = await this.#proveOne(record, baseline);
      if (broken !== null) return this.#broken(broken);
    }
    const broken = await this.#proveTogether(
      baselines.map(({ record }) => record),
      seeds,
    );
    return broken === null ? this.#report("survived", null) : this.#broken(broken);
  }

  #plan(baseline: RunResult): ProofSchedule[] {
    const random = createSeededRandom("pairs");
    const two = pairs(baseline.points, PAIRS_PER_RECORD_MAX, random);
    return [...singles(baseline.points), ...two];
  }

  async #proveOne(record: ProofRecord, baseline: RunResult): Promise<Broken | null> {
    this.#points += baseline.points.length;
    const later = await this.#try([record], [], baseline, { startAt: LATER_MS, seed: "other" }); // P1
    if (later !== null) return later;
    let shortest: Broken | null = null;
    for (const schedule of this.#plan(baseline)) {
      if (shortest !== null && schedule.length > shortest.faults) break; // P2
      const broken = await this.#try([record], schedule, baseline);
      if (broken === null) continue;
      if (shortest === null || broken.steps.length < shortest.steps.length) shortest = broken;
    }
    return shortest;
  }

  async #proveTogether(records: readonly ProofRecord[], seeds: number): Promise<Broken | null> {
    const baseline = await this.#run(records, []);
    for (let seed = 1; seed <= seeds; seed += 1) {
      const random = createSeededRandom(`seed ${seed}`);
      const schedule = drawSchedule(baseline.points.length, random);
      const broken = await this.#try(records, schedule, baseline, { startAt: 0, seed: `${seed}` });
      if (broken !== null) return this.#shrink(records, { schedule, baseline, broken, seed });
    }
    return null;
  }

  /** Removes one fault at a time, while the handler still breaks. */
  async #shrink(
    records: readonly ProofRecord[],
    first: {
      readonly schedule: ProofSchedule;
      readonly baseline: RunResult;
      readonly broken: Broken;
      readonly seed: number;
    },
  ): Promise<Broken> {
    const { baseline } = first;
    let { schedule, broken } = first;
    for (let at = 0; at < schedule.length; ) {
      const fewer = schedule.filter((_, index) => index !== at);
      const other = { startAt: 0, seed: `${first.seed}` };
      const still = await this.#try(records, fewer, baseline, other);
      if (still === null) at += 1;
      else {
        schedule = fewer;
        broken = still;
      }
    }
    return broken;
  }

  async #try(
    records: readonly ProofRecord[],
    schedule: ProofSchedule,
    baseline: RunResult,
    other = { startAt: 0, seed: "proof" },
  ): Promise<Broken | null> {
    const run = await this.#run(records, schedule, other);
    const { pipeline } = this.#setup;
    const problem = judgeProof(run, baseline, { pipeline, records });
    if (problem !== null) {
      const steps = storyOf(problem.steps, (name) => titleOf(records, name));
      return { problem, faults: run.injected.length, steps };
    }
    this.#survived += 1;
    const of = Math.max(this.#planned, this.#survived);
    this.#options.onProgress?.({ ran: this.#survived, of });
    return null;
  }

  async #run(
    records: readonly ProofRecord[],
    schedule: ProofSchedule,
    { startAt, seed } = { startAt: 0, seed: "proof" },
  ): Promise<RunResult> {
    const at = PROOF_START_AT + startAt;
    const run = await runProof(this.#setup, { records, schedule, startAt: at, seed });
    for (const use of run.uses) this.#uses.set(`${use.call} ${use.location}`, use);
    return run;
  }

  #socketProblem({ name }: ProofRecord, use: OutsideUse, baseline: RunResult): Broken {
    const steps = baseline.steps.slice(0, 1); // The first attempt; every retry ends the same way.
    const what = `the handler opens a socket${locationOf(use)}, which the simulator cannot answer`;
    const hint = "Use fetch for outside calls; the simulator answers it with a stub.";
    const problem: ProofProblem = { kind: "outside-call", record: name, what, hint, steps };
    return { problem, faults: 0, steps: storyOf(steps, () => titleOf(this.#records, name)) };
  }

  #stuckProblem({ name, title }: ProofRecord, { steps }: RunResult): Broken {
    const what = `the handler of ${title} waits for something outside the simulated world`;
    const hint = "Await only the handler's inputs, fetch and timers.";
    const problem: ProofProblem = { kind: "unfinished", record: name, what, hint, steps };
    return { problem, faults: 0, steps: storyOf(steps, () => title) };
  }

  #broken({ problem, faults, steps }: Broken): ProofReport {
    const { what, hint, record } = problem;
    const title = titleOf(this.#records, record);
    return this.#report("broken", { record: title, problem: what, hint, faults, steps });
  }

  #report(verdict: ProofReport["verdict"], failure: ProofFailure | null): ProofReport {
    const uses = [...this.#uses.values()].filter(({ use }) => use !== "socket");
    const used = uses.map((use) => `the handler ${USES[use.use]}: ${use.call}${locationOf(use)}`);
    return {
      pipeline: this.#setup.pipeline.name,
      verdict,
      records: this.#records.length,
      points: this.#points,
      schedules: this.#survived,
      failure,
      warnings: [...this.#warnings, ...used],
    };
  }
}

const USES: Readonly<Record<OutsideUse["use"], string>> = {
  time: "reads the clock, so a retry sees another time",
  random: "uses randomness, so a retry gets another value",
  timer: "waits for a timer",
  socket: "opens a socket",
};

function locationOf({ location }: OutsideUse): string {
  return location === null ? "" : ` at ${location}`;
}

function titleOf(records: readonly ProofRecord[], name: string): string {
  return records.find((record) => record.name === name)?.title ?? name;
}

/** The report as lines of text. */
export function proofText(report: ProofReport): string[] {
  const { pipeline, verdict, schedules, records, points, failure, warnings } = report;
  const warned = warnings.map((warning) => `warning: ${warning}`);
  if (verdict === "nothing-proved") {
    const why = records === 0 ? "it has no samples" : "no sample succeeds without faults";
    return [`${pipeline}: nothing was proved, because ${why}.`, ...warned];
  }
  if (failure === null) {
    const about = `${records} records, ${points} points`;
    return [`${pipeline} survived all ${schedules} schedules (${about}).`, ...warned];
  }
  const faults = failure.faults === 1 ? "one fault" : `${failure.faults} faults`;
  const by = failure.faults === 0 ? "even without a fault" : `with ${faults}`;
  return [
    `${pipeline} breaks ${by}: ${failure.problem}.`,
    "",
    ...failure.steps.map((step, at) => `  ${at + 1}. ${step}`),
    "",
    failure.hint,
    ...warned,
  ];
}

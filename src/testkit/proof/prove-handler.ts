// Prove handler: runs a pipeline's handler through crashes, duplicates, failures and lost leases at
// each of its points, and tells how many such schedules it survived, or shows the shortest that
// breaks it.
//   P1. The first runs are undisturbed, at two times and with two chances: what comes of them is
//       what has to come of all others.
//   P2. Schedules come in order of length (proof-schedule.ts), and of those that break a handler
//       the one with the fewest steps is told.
//   P3. Nothing is claimed that was not run: samples that no handler finishes prove nothing.

import { createSeededRandom } from "../../core/seeded-random.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import { installHandlerWatch } from "../../platform/handler-watch.ts";
import { afterRealTurns } from "../../platform/real-turns.ts";
import { createRowReader } from "../../readers/row-reader.ts";
import type { FetchStub, OutsideUse } from "./proof-handler.ts";
import { type ProofRecord, type ProofSample, proofInput } from "./proof-samples.ts";
import { drawSchedule, type ProofSchedule, pairs, singles } from "./proof-schedule.ts";
import { storyOf } from "./proof-story.ts";
import { judgeProof, type ProofProblem } from "./proof-verdict.ts";
import { PROOF_START_AT, type ProofSetup, type RunResult, runProof } from "./proof-world.ts";

export type { FetchStub, ProofSample };

export interface ProveOptions {
  /** What the handler is run on: { key, body } for objects, { payload } for messages. */
  readonly samples: readonly ProofSample[];
  /** Answers the handler's outside calls; 200 and {} unless said. */
  readonly fetch?: FetchStub;
  /** Seeded schedules after the enumerated ones; 100 unless said. */
  readonly seeds?: number;
  readonly onProgress?: (progress: ProofProgress) => void;
}

export interface ProofProgress {
  readonly ran: number;
  readonly of: number;
}

export interface ProofFailure {
  /** The sample it is about. */
  readonly record: string;
  readonly problem: string;
  readonly hint: string;
  /** What was done to it; none if it breaks by itself. */
  readonly faults: number;
  /** The story, a sentence a step. */
  readonly steps: readonly string[];
}

export interface ProofReport {
  readonly pipeline: string;
  readonly verdict: "survived" | "broken" | "nothing-proved";
  readonly records: number;
  /** Places at which something was done to the handler. */
  readonly points: number;
  /** Schedules it survived. */
  readonly schedules: number;
  readonly failure: ProofFailure | null;
  /** What a reader should know whatever the verdict is. */
  readonly warnings: readonly string[];
}

/** A handler does not survive a schedule, or nothing could be proved; the message is the story. */
export class ProofError extends Error {
  override readonly name = "ProofError";
  readonly report: ProofReport;

  constructor(report: ProofReport) {
    super(proofText(report).join("\n"));
    this.report = report;
  }
}

/** Rejects with a ProofError unless the handler survives; for tests of any runner. */
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
/** Records beyond these add time and hardly any schedule of a new kind. */
export const SAMPLES_MAX = 20;
const LATER_MS = 86_400_000 + 3_723_004;

/** As `proveHandler`, with the verdict as an answer. */
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
    const rows = createRowReader();
    this.#setup = { pipeline, input, rows, fetch: answer, settle: afterRealTurns };
    this.#options = options;
    this.#records = input.records;
    const left = options.samples.length - this.#records.length;
    if (left > 0) this.#warnings.push(`${left} samples beyond ${SAMPLES_MAX} were left out`);
  }

  async report(): Promise<ProofReport> {
    const baselines: { record: ProofRecord; baseline: RunResult }[] = [];
    for (const record of this.#records) {
      const baseline = await this.#run([record], []);
      const socket = baseline.uses.find(({ use }) => use === "socket");
      if (socket !== undefined) return this.#broken(this.#socketProblem(record, socket, baseline));
      if (baseline.stuck) return this.#broken(this.#stuckProblem(record, baseline));
      if (baseline.ends.get(record.name) !== "committed") {
        const why = baseline.failures.get(record.name) ?? "it did not come to an end";
        this.#warnings.push(`${record.title} is given up on even undisturbed: ${why}`);
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

  /** Leaves out what is not needed, one fault at a time, for as long as it still breaks. */
  async #shrink(
    records: readonly ProofRecord[],
    found: {
      readonly schedule: ProofSchedule;
      readonly baseline: RunResult;
      readonly broken: Broken;
      readonly seed: number;
    },
  ): Promise<Broken> {
    const { baseline } = found;
    let { schedule, broken } = found;
    for (let at = 0; at < schedule.length; ) {
      const fewer = schedule.filter((_, place) => place !== at);
      const other = { startAt: 0, seed: `${found.seed}` };
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
      const steps = storyOf(problem.told, (name) => titleOf(records, name));
      return { problem, faults: run.struck.length, steps };
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
    for (const use of run.uses) this.#uses.set(`${use.call} ${use.site}`, use);
    return run;
  }

  #socketProblem({ name }: ProofRecord, use: OutsideUse, baseline: RunResult): Broken {
    const told = baseline.told.slice(0, 1); // It begins; whatever is tried after that ends alike.
    const what = `the handler opens a socket${placeOf(use)}, which no simulated world can answer`;
    const hint = "Make outside calls by fetch, which is answered by a stub here.";
    const problem: ProofProblem = { kind: "outside-call", record: name, what, hint, told };
    return { problem, faults: 0, steps: storyOf(told, () => titleOf(this.#records, name)) };
  }

  #stuckProblem({ name, title }: ProofRecord, { told }: RunResult): Broken {
    const what = `the handler of ${title} waits for something outside the simulated world`;
    const hint = "Let it wait for nothing but what it is given, fetch and timers.";
    const problem: ProofProblem = { kind: "unfinished", record: name, what, hint, told };
    return { problem, faults: 0, steps: storyOf(told, () => title) };
  }

  #broken({ problem, faults, steps }: Broken): ProofReport {
    const { what, hint, record } = problem;
    const title = titleOf(this.#records, record);
    return this.#report("broken", { record: title, problem: what, hint, faults, steps });
  }

  #report(verdict: ProofReport["verdict"], failure: ProofFailure | null): ProofReport {
    const uses = [...this.#uses.values()].filter(({ use }) => use !== "socket");
    const told = uses.map((use) => `the handler ${USES[use.use]}: ${use.call}${placeOf(use)}`);
    return {
      pipeline: this.#setup.pipeline.name,
      verdict,
      records: this.#records.length,
      points: this.#points,
      schedules: this.#survived,
      failure,
      warnings: [...this.#warnings, ...told],
    };
  }
}

const USES: Readonly<Record<OutsideUse["use"], string>> = {
  time: "reads the real time, so that another attempt may see another",
  random: "draws by chance, so that another attempt draws something else",
  timer: "waits by a timer",
  socket: "opens a socket",
};

function placeOf({ site }: OutsideUse): string {
  return site === null ? "" : ` at ${site}`;
}

function titleOf(records: readonly ProofRecord[], name: string): string {
  return records.find((record) => record.name === name)?.title ?? name;
}

/** The report as lines for people. */
export function proofText(report: ProofReport): string[] {
  const { pipeline, verdict, schedules, records, points, failure, warnings } = report;
  const warned = warnings.map((warning) => `warning: ${warning}`);
  if (verdict === "nothing-proved") {
    const none = records === 0 ? "there is no sample to run it on" : "no sample gets through it";
    return [`${pipeline}: nothing was proved, as ${none}.`, ...warned];
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

// Crash run: start, work, kill, restart on the same folder, compare; repeated many times.
//   R1. The server is killed with SIGKILL at a random instant under load. Sometimes it is also
//       killed while it starts, so that recovery itself is interrupted.
//   R2. All rounds share one folder, so that state and damage accumulate.
//   R3. A run stops at the first round with a violation: later rounds would start from wrong facts.
//   R4. In about half of the rounds, that instant is after WORK_MIN operations, so that a busy
//       machine does not leave kinds of work out. Clients may all be in long polls, so the wait is
//       bounded.
//   R5. SIGKILL ends the process, not the operating system: data that the kernel has accepted
//       survives. That it is on disk is a promise of the store, which this test does not show.

import { rmSync } from "node:fs";
import { type ChildServer, startChild } from "../../bench/broker/child-server.ts";
import { createSeededRandom, type SeededRandom } from "../../src/core/seeded-random.ts";
import { runClient } from "../support/crash/client.ts";
import { type ClientContext, count, type Shared } from "../support/crash/client-context.ts";
import { connectClient, must, type SqsClient } from "../support/crash/sqs-client.ts";
import { checkObservation } from "./check.ts";
import { drainEverything } from "./drain-everything.ts";
import { createFacts, liveMessages } from "./facts.ts";
import { createQueues, findQueues, moveTasksOf, observe } from "./observe.ts";
import { probeDuplicates } from "./probe-duplicates.ts";
import { resolveUnknowns } from "./resolve-unknowns.ts";

const CLIENTS = 8;
const WORK_MS_MIN = 20;
const WORK_MS_MAX = 500;
/** Operations of all clients (R4). */
const WORK_MIN = 40;
const WORK_MIN_PROBABILITY = 0.5;
const POLL_MS = 10;
const POLLS_MAX = 200;
const START_KILL_PROBABILITY = 0.15;
const START_KILL_MS_MAX = 250;
const SEED_STRIDE = 1_000;

export interface CrashRunOptions {
  /** Arguments after the node binary that start the server on a folder. */
  readonly serverArgs: (folder: string) => readonly string[];
  readonly folder: string;
  readonly crashes: number;
  readonly seed: number;
  readonly progress?: (line: string) => void;
}

export interface CrashRunResult {
  readonly crashes: number;
  readonly counts: Readonly<Record<string, number>>;
  readonly violations: readonly string[];
}

const sleepMs = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Starts the server; sometimes kills it while it starts, and starts it again. R1 */
async function startOn(options: CrashRunOptions, random: SeededRandom, shared: Shared) {
  const args = options.serverArgs(options.folder);
  if (random.fraction() < START_KILL_PROBABILITY) {
    const killMs = random.between(0, START_KILL_MS_MAX);
    const early = startChild({
      args,
      onSpawn: (child) => setTimeout(() => child.kill("SIGKILL"), killMs),
    });
    const started = await early.catch(() => null); // It was killed before it was ready.
    await started?.kill();
    count(shared, "killed while starting");
  }
  return startChild({ args });
}

/** Compares what the server holds with the facts; true if they agree. */
async function verify(sqs: SqsClient, shared: Shared, random: SeededRandom): Promise<boolean> {
  const { facts } = shared;
  const interrupted = (await must(moveTasksOf(sqs))).includes("RUNNING");
  if (interrupted) count(shared, "move tasks interrupted by a crash");
  const observation = await observe(sqs);
  facts.violations.push(...checkObservation(facts, observation));
  if (facts.violations.length > 0) return false; // R3
  resolveUnknowns(facts, observation);
  await probeDuplicates(sqs, shared, random);
  return facts.violations.length === 0;
}

async function work(server: ChildServer, shared: Shared, seed: number): Promise<void> {
  const random = createSeededRandom(seed);
  const control = await must(connectClient(server.port));
  const urls = await findQueues(control);
  const loops: Promise<void>[] = [];
  for (let client = 0; client < CLIENTS; client += 1) {
    const sqs = await must(connectClient(server.port));
    const own = createSeededRandom(seed * CLIENTS + client);
    const context: ClientContext = { shared, client, random: own, sqs, urls };
    loops.push(runClient(context));
  }
  const workMs = random.between(WORK_MS_MIN, WORK_MS_MAX);
  if (random.fraction() < WORK_MIN_PROBABILITY) await worked(shared); // R4
  await sleepMs(workMs);
  await server.kill(); // R1
  await Promise.all(loops);
  control.close();
}

/** R4 */
async function worked({ counts }: Shared): Promise<void> {
  const operations = () => Object.values(counts).reduce((sum, each) => sum + each, 0);
  const enough = operations() + WORK_MIN;
  for (let poll = 0; poll < POLLS_MAX && operations() < enough; poll += 1) await sleepMs(POLL_MS);
}

async function runRounds(options: CrashRunOptions, shared: Shared): Promise<number> {
  for (let round = 0; round <= options.crashes; round += 1) {
    const seed = options.seed * SEED_STRIDE + round;
    const random = createSeededRandom(seed);
    const server = await startOn(options, random, shared);
    try {
      const control = await must(connectClient(server.port));
      if (round === 0) await createQueues(control, shared.facts);
      else if (!(await verify(control, shared, random))) return round;
      if (round === options.crashes) {
        await drainEverything(control, shared);
        return round;
      }
      control.close();
      await work(server, shared, seed);
      const live = liveMessages(shared.facts);
      options.progress?.(`crash ${round + 1}: ${shared.facts.messages.size} sent, ${live} live`);
      if (shared.facts.violations.length > 0) return round + 1; // R3
    } finally {
      await server.kill();
    }
  }
  return options.crashes;
}

/** Runs the crashes and returns the violations. Removes the folder if there are none. */
export async function runCrashes(options: CrashRunOptions): Promise<CrashRunResult> {
  const shared: Shared = {
    facts: createFacts(),
    held: [],
    recent: [],
    counts: {},
    purgedMs: new Map(),
    nextBody: 1,
  };
  const crashes = await runRounds(options, shared);
  const { violations } = shared.facts;
  if (violations.length === 0) rmSync(options.folder, { recursive: true, force: true });
  return { crashes, counts: shared.counts, violations };
}

// Message replayer: `tidegate replay` of archived messages as a process of its own, beside live
// traffic. It meets the faults of every call and may crash at any of them; it is started again, and
// continues what the ledger has.
//   R1. Records of the replay's generation are not part of the history. What its handlers read and
//       draw is, by the name of the live record.
//   R2. Its sink stores nothing, but looks for values that governance hides.
//   R3. A drop whose answer is lost is repeated: its inputs may be gone and its entry not.

import { TidegateError } from "../../core/errors.ts";
import { createSeededRandom } from "../../core/seeded-random.ts";
import { epochMs } from "../../core/units.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import { SILENT } from "../../ingest/telemetry/silent-telemetry.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { ObjectSource } from "../../ports/objects/object-source.ts";
import type { IdempotentSink } from "../../ports/sink.ts";
import { checkVersions } from "../../replay/check-versions.ts";
import { planReplay } from "../../replay/plan-replay.ts";
import {
  forgetReplay,
  frozenInputs,
  listReplays,
  type ReplayEntry,
  registerReplay,
} from "../../replay/replay-registry.ts";
import { runReplay } from "../../replay/run-replay.ts";
import { hashText } from "../faults/named-random.ts";
import { hiddenValuesIn } from "../hidden-value.ts";
import { createSimArchiveReader } from "../ports/sim-archive.ts";
import { createSimLedger } from "../ports/sim-ledger.ts";
import { SCOPE, START_AT, type WorldServices } from "../services.ts";
import type { Topology } from "../topology.ts";
import type { HandlerTools, WorldParts } from "../world-parts.ts";
import { runProcess, SimProcess } from "./process.ts";

const RESTART_MS = 10_000;
/** Of the faulty time. */
const FIRST_AT = 0.7;
/** Older than any event of a world. */
const WINDOW_MS = 86_400_000;
/** The key of a record that has no name (R1). */
const RECORD_KEY = /^k\d+:/;
const PLAN = { durationMs: 5, failures: 0, poison: false, hanging: false };
const nothing = async () => {};

export class MessageReplayer {
  readonly name: string;
  readonly #services: WorldServices;
  readonly #options: {
    readonly seed: number;
    readonly topology: Topology;
    readonly parts: WorldParts;
  };
  #begun = false;
  /** Whether the replay itself has ended, and is to be dropped. */
  #ended = false;
  #done = false;

  constructor(
    services: WorldServices,
    nth: number,
    options: { readonly seed: number; readonly topology: Topology; readonly parts: WorldParts },
  ) {
    this.name = `replay-${nth}`;
    this.#services = services;
    this.#options = options;
  }

  /** Whether it was started and has not ended. */
  get busy(): boolean {
    return this.#begun && !this.#done;
  }

  get done(): boolean {
    return this.#done;
  }

  start(): void {
    if (this.#done) return;
    this.#begun = true;
    const { scheduler } = this.#services;
    const again = () => scheduler.after(RESTART_MS, hashText(this.name), () => this.start());
    runProcess(new SimProcess(this.name, scheduler, again), (process) => this.#run(process));
  }

  async #run(process: SimProcess): Promise<void> {
    const session = this.#open(process);
    const { ledger, pipeline, objects } = session;
    const entry = (await this.#find(ledger)) ?? (await this.#plan(process, session));
    if (entry !== null && this.#ended) {
      await forgetReplay(ledger, SCOPE, entry); // R3
    } else if (entry !== null) {
      const { clock, turn } = process;
      const random = createSeededRandom(`${this.#options.seed} ${this.name}`);
      const ports = { clock, turn, random, ledger, objects, rows: null, sink: this.#sink() };
      const inputs = await frozenInputs(ledger, SCOPE, entry);
      const outcome = await runReplay({ ...ports, telemetry: SILENT }, inputs, {
        pipeline,
        generation: entry.generation,
        run: entry.run,
        owner: `${this.name} ${clock.now()}`,
        concurrency: null,
        signal: new AbortController().signal,
        onProgress: () => undefined,
        isCancelled: async () => false,
      });
      const { how, committed, failed } = outcome;
      if (how !== "complete" && how !== "failed") throw new Error(`the replay is ${how}`);
      const counts = { inputs: inputs.length, committed, failed };
      this.#services.history.add(this.name, { kind: "messages-replayed", ...counts });
      this.#ended = true;
      await forgetReplay(ledger, SCOPE, entry);
    }
    this.#done = true;
  }

  /** R2 */
  #sink(): IdempotentSink {
    const { history } = this.#services;
    return {
      mode: "idempotent",
      prepare: nothing,
      apply: async (effects) => {
        for (const value of hiddenValuesIn(JSON.stringify(effects))) {
          history.add(this.name, { kind: "exposed", ...value, where: "the output of a replay" });
        }
      },
      close: nothing,
    };
  }

  #open(process: SimProcess) {
    const { ports, ledger, endpoints, ledgerCaller: caller, archive, history } = this.#services;
    const { topology, parts } = this.#options;
    const own = {
      ...ports,
      history: {
        events: history.events,
        add: (...[actor, event]: Parameters<typeof history.add>) => {
          const isLive = "name" in event && !RECORD_KEY.test(event.name);
          if (isLive) history.add(actor, event); // R1
        },
      },
    };
    const options = { service: endpoints.ledger, time: topology.ledgerTime, caller };
    const tools: HandlerTools = {
      actor: this.name,
      clock: process.clock,
      topology,
      planOf: () => PLAN,
      lateMsOf: () => 0,
      driftMsOf: () => 0,
      handling: () => undefined,
      drew: (name, fence, values) =>
        history.add(this.name, { kind: "drew", name, fence, replayed: true, values }),
      read: (name, content) =>
        history.add(this.name, { kind: "read", name, replayed: true, content }),
    };
    return {
      ledger: createSimLedger(own, process, ledger, options),
      objects: createSimArchiveReader(own, process, archive, endpoints.archive),
      pipeline: parts.createPipeline(tools),
    };
  }

  async #find(ledger: Ledger): Promise<ReplayEntry | null> {
    const entries = await listReplays(ledger, SCOPE);
    return entries.find(({ digests }) => digests.codeDigest === this.name) ?? null;
  }

  /** Registers the replay; null if there is nothing to replay. */
  async #plan(
    { clock }: SimProcess,
    session: {
      readonly ledger: Ledger;
      readonly objects: ObjectSource;
      readonly pipeline: Pipeline;
    },
  ): Promise<ReplayEntry | null> {
    const { ledger, objects, pipeline } = session;
    const window = { from: epochMs(START_AT - WINDOW_MS), to: clock.now() };
    const request = { ...window, bucket: null, prefix: null, into: "live" } as const;
    const digests = { codeDigest: this.name, configDigest: "sim" };
    const ports = { ledger, clock };
    try {
      const plan = await planReplay(ports, pipeline, request, digests);
      const { signal } = new AbortController();
      const { present, gone } = await checkVersions(objects, pipeline, plan.inputs, signal);
      for (const { uri, reason, cause = "gone" } of gone) {
        const report = { object: uri, cause, reason } as const;
        this.#services.history.add(this.name, { kind: "not-replayable", ...report });
      }
      if (present.length === 0) return null;
      const file = { missing: gone, file: null };
      return await registerReplay(ports, SCOPE, { ...plan, inputs: present }, file);
    } catch (error) {
      if (error instanceof TidegateError && error.code === "TG_REPLAY_REFUSED") return null;
      throw error;
    }
  }
}

/** The replays of a world: one beside the faults, and one after everything has drained. */
export class MessageReplays {
  readonly #all: readonly MessageReplayer[];

  constructor(
    services: WorldServices,
    options: { readonly seed: number; readonly topology: Topology; readonly parts: WorldParts },
  ) {
    const numbers = options.topology.archive === true ? [1, 2] : [];
    this.#all = numbers.map((nth) => new MessageReplayer(services, nth, options));
  }

  schedule(at: (ms: number, work: () => void) => void, faultyMs: number): void {
    const [first] = this.#all;
    if (first !== undefined) at(faultyMs * FIRST_AT, () => first.start());
  }

  /** Starts the last replay, if it has not run yet; true when all have ended. */
  isFinal(): boolean {
    if (this.#all.some(({ busy }) => busy)) return false;
    const last = this.#all.at(-1);
    if (last === undefined || last.done) return true;
    last.start();
    return false;
  }
}

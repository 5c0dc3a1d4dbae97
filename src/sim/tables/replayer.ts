// Replayer: `tidegate replay` as a process of its own, beside live traffic. It runs a window into a
// shadow, and then promotes or drops it. It meets the faults of every call and may crash at any of
// them. The operator starts it again, and it continues what the ledger has.
//   R1. Each replay has code of its own, whose version is part of every row that it writes.
//   R2. Records of the replay's generation are not part of the history. A record of the live
//       generation that a replay touches is, and a checker reports it.
//       What its handlers draw is in the history, by the name of the live record.
//   R3. A patient replay is promoted after all quarantined rows were redriven.
//   R4. With unsteady times, the event time function of a replay gives other times than that of the
//       live pipeline. The replay must not use them.

import { TidegateError } from "../../core/errors.ts";
import { createSeededRandom } from "../../core/seeded-random.ts";
import { durationMs, epochMs } from "../../core/units.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import { SILENT } from "../../ingest/telemetry/silent-telemetry.ts";
import { recordKey } from "../../ledger/record-key.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { ObjectSource } from "../../ports/objects/object-source.ts";
import type { Shadow } from "../../ports/shadow.ts";
import { createRowReader } from "../../readers/row-reader.ts";
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
import { createTableShadow } from "../../sinks/table/shadow/shadow-tables.ts";
import { createNamedDice, hashText, type NamedDice } from "../faults/named-random.ts";
import { runProcess, SimProcess } from "../hosts/process.ts";
import { createSimObjects } from "../ports/sim-bucket.ts";
import { createSimLedger } from "../ports/sim-ledger.ts";
import { SCOPE, START_AT, type WorldServices } from "../services.ts";
import type { Topology } from "../topology.ts";
import type { HandlerTools } from "../world-parts.ts";
import type { SimTables } from "./sim-tables.ts";
import { createTablesPipeline } from "./tables-pipeline.ts";

export interface ReplayerOptions {
  readonly seed: number;
  readonly topology: Topology;
  /** Its number, which is the version of its code (R1). */
  readonly nth: number;
  readonly lateMsOf: HandlerTools["lateMsOf"];
}

const RESTART_MS = 10_000;
const REPLAY_DRIFT_MS = 60_000;
const WAIT_MS = durationMs(15_000);
/** Older than any event of a world. */
const WINDOW_MS = 86_400_000;
/** The key of a record that has no name (R2). */
const RECORD_KEY = /^k\d+:/;

/** What a process needs to continue the replay. */
interface Session {
  readonly process: SimProcess;
  readonly ledger: Ledger;
  readonly objects: ObjectSource;
  readonly pipeline: Pipeline;
}

export class Replayer {
  readonly name: string;
  readonly #services: WorldServices;
  readonly #tables: SimTables;
  readonly #options: ReplayerOptions;
  readonly #dice: NamedDice;
  /** Whether a patient replay may be promoted (R3). */
  #released = false;
  #begun = false;
  /** Promoted or rejected: what remains is to remove the shadow. */
  #ending = false;
  #done = false;

  constructor(services: WorldServices, tables: SimTables, options: ReplayerOptions) {
    this.name = `replay-${options.nth}`;
    this.#services = services;
    this.#tables = tables;
    this.#options = options;
    this.#dice = createNamedDice(options.seed, this.name);
  }

  get done(): boolean {
    return this.#done;
  }

  /** When it begins, as a fraction of the faulty time. */
  get startsAt(): number {
    return 0.2 + 0.75 * this.#dice.fraction("starts");
  }

  /** R3 */
  release(): void {
    this.#released = true;
    if (!this.#begun) this.start();
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
    const { ledger } = session;
    const entry = (await this.#find(ledger)) ?? (this.#ending ? null : await this.#plan(session));
    if (entry !== null) {
      const shadow = this.#shadowOf(ledger, entry);
      if (!this.#ending) await this.#runToEnd(session, entry, shadow);
      await shadow.drop();
      await forgetReplay(ledger, SCOPE, entry);
    }
    this.#done = true;
  }

  async #runToEnd(session: Session, entry: ReplayEntry, shadow: Shadow): Promise<void> {
    const { clock } = session.process;
    const state = await shadow.state();
    const isSealed = state === "ready" || state === "promoted";
    if (isSealed || (await this.#fill(session, entry, shadow))) {
      while (this.#isPatient && !this.#released) await clock.sleep(WAIT_MS);
      const promotes = this.#dice.roll("promoted", 0.75);
      if (promotes) await this.#promote(shadow);
      const how = promotes ? "promoted" : "dropped";
      this.#services.history.add("operator", { kind: "replay-ended", run: entry.run, how });
    }
    this.#ending = true;
  }

  get #isPatient(): boolean {
    return this.#dice.roll("patient", 0.4);
  }

  #open(process: SimProcess): Session {
    const { ports, ledger, endpoints, ledgerCaller: caller, bucket, history } = this.#services;
    const { topology, nth, lateMsOf } = this.#options;
    const own = {
      ...ports,
      history: {
        events: history.events,
        add: (...[actor, event]: Parameters<typeof history.add>) => {
          const isLive = "name" in event && !RECORD_KEY.test(event.name);
          if (isLive) history.add(actor, event); // R2
        },
      },
    };
    const options = { service: endpoints.ledger, time: topology.ledgerTime, caller };
    const plan = { durationMs: 20, failures: 0, poison: false, hanging: false };
    const failing = { ...plan, failures: 1 };
    const planOf = (name: string) => (this.#dice.roll(`${name} fails`, 0.1) ? failing : plan);
    const drew: HandlerTools["drew"] = (name, fence, values) =>
      history.add(this.name, { kind: "drew", name, fence, replayed: true, values });
    const handling = () => undefined;
    const driftMsOf = () => (topology.unsteadyTimes === true ? REPLAY_DRIFT_MS : 0); // R4
    const drawn = { drew, driftMsOf, handling };
    const tools = { actor: this.name, clock: process.clock, topology, lateMsOf, planOf, ...drawn };
    const world = { tables: this.#tables, names: ports.names };
    const code = { version: nth, acceptsBad: () => this.#acceptsBad };
    return {
      process,
      ledger: createSimLedger(own, process, ledger, options),
      objects: createSimObjects(own, process, bucket, endpoints.objects),
      pipeline: createTablesPipeline(tools, world, code),
    };
  }

  get #acceptsBad(): boolean {
    return this.#dice.roll("accepts bad rows", 0.5);
  }

  get #digests() {
    return { codeDigest: `code ${this.#options.nth}`, configDigest: "sim" };
  }

  async #find(ledger: Ledger): Promise<ReplayEntry | null> {
    const entries = await listReplays(ledger, SCOPE);
    const { codeDigest } = this.#digests;
    return entries.find(({ digests }) => digests.codeDigest === codeDigest) ?? null;
  }

  /** Registers the replay; null if there is nothing to replay. */
  async #plan({ process, ledger, objects, pipeline }: Session): Promise<ReplayEntry | null> {
    const { clock } = process;
    const window = { from: epochMs(START_AT - WINDOW_MS), to: clock.now() };
    const request = { ...window, bucket: null, prefix: null, into: "shadow" } as const;
    const ports = { ledger, clock };
    try {
      const plan = await planReplay(ports, pipeline, request, this.#digests);
      const { signal } = new AbortController();
      const { present, gone, superseded } = await checkVersions(
        objects,
        pipeline,
        plan.inputs,
        signal,
      );
      if (present.length === 0) return null;
      const missing = [...gone, ...superseded];
      const checked = { ...plan, inputs: present };
      return await registerReplay(ports, SCOPE, checked, { missing, file: null });
    } catch (error) {
      if (error instanceof TidegateError && error.code === "TG_REPLAY_REFUSED") return null;
      throw error;
    }
  }

  /** Fills the shadow; false if records of the replay failed for good. */
  async #fill(session: Session, entry: ReplayEntry, shadow: Shadow): Promise<boolean> {
    const { process, ledger, objects, pipeline } = session;
    const { run, generation } = entry;
    const inputs = await frozenInputs(ledger, SCOPE, entry);
    this.#announce(entry, inputs);
    await shadow.open();
    const sink = shadow.sink();
    await sink.prepare();
    const { clock, turn } = process;
    const random = createSeededRandom(`${this.#options.seed} ${this.name}`);
    const rows = createRowReader(process);
    const outcome = await runReplay(
      { clock, turn, random, ledger, objects, rows, sink, telemetry: SILENT },
      inputs,
      {
        pipeline,
        generation,
        run,
        owner: `${this.name} ${clock.now()}`,
        concurrency: null,
        signal: new AbortController().signal,
        onProgress: () => undefined,
        isCancelled: async () => false,
      },
    );
    if (outcome.how === "failed") return false;
    if (outcome.how !== "complete") throw new Error(`the replay is ${outcome.how}`);
    await shadow.seal();
    await this.#addSealed(entry, shadow);
    return true;
  }

  async #addSealed({ run }: ReplayEntry, shadow: Shadow): Promise<void> {
    const [content] = await shadow.contents();
    const [table = ""] = shadow.tables.values();
    const rows = this.#tables.rowsOf(table);
    const hash = content?.contentHash ?? "";
    this.#services.history.add("operator", { kind: "replay-sealed", run, hash, rows });
  }

  #announce(
    { run, generation, shadow }: ReplayEntry,
    inputs: Awaited<ReturnType<typeof frozenInputs>>,
  ): void {
    const { history, ports } = this.#services;
    const nameOf = (identity: string) => ports.names.ofOutboxKey(identity);
    const scope = { ...SCOPE, generation };
    const records = inputs.map(
      ({ identity }) => [recordKey(scope, identity), nameOf(identity)] as const,
    );
    this.#tables.addReplay({ run, shadow }, new Map(records));
    const names = inputs.map(({ identity }) => nameOf(identity));
    const code = { code: this.#options.nth, acceptsBad: this.#acceptsBad };
    const facts = { run, generation, shadow, ...code, names };
    history.add("operator", { kind: "replay-registered", ...facts });
  }

  /** Two operators may promote at the same time; one of them is refused. */
  async #promote(shadow: Shadow): Promise<void> {
    const count = this.#dice.roll("promoted by two", 0.5) ? 2 : 1;
    const attempts = Array.from({ length: count }, () => shadow.promote());
    const results = await Promise.allSettled(attempts);
    const [failed] = results.filter((each) => each.status === "rejected");
    if (failed !== undefined && (await shadow.state()) !== "promoted") throw failed.reason;
  }

  #shadowOf({ sinkStore }: Ledger, { shadow: id, run }: ReplayEntry): Shadow {
    const { memory, spec } = this.#tables;
    const database = {
      dialect: "sqlite",
      store: sinkStore ?? memory.store,
      open: async () => memory.database,
      sinkOf: memory.sinkOf,
      close: async () => undefined,
    } as const;
    return createTableShadow(spec, database, { id, run });
  }
}

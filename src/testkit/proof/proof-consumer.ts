// Proof consumer: a consumer of a proof world, which crashes, stalls and restarts.

import type { Broker } from "../../broker/engine/broker.ts";
import { createSeededRandom } from "../../core/seeded-random.ts";
import { type Consumer, createConsumer } from "../../ingest/running/consumer.ts";
import { createLeaseRenewer } from "../../ingest/running/lease-renewer.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import { SILENT } from "../../ingest/telemetry/silent-telemetry.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { Queue } from "../../ports/queue-receiver.ts";
import type { Sink } from "../../ports/sink.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { History } from "../../sim/history.ts";
import { SimProcess } from "../../sim/hosts/process.ts";
import type { StoreCaller } from "../../sim/ports/process-time.ts";
import { createSimLedger } from "../../sim/ports/sim-ledger.ts";
import type { SimPorts } from "../../sim/ports/sim-ports.ts";
import { createSimQueue, type Receipts } from "../../sim/ports/sim-queue.ts";
import type { Scheduler } from "../../sim/scheduler.ts";
import { createFunctionSink } from "../../sinks/function/function-sink.ts";
import { type OutsideUse, probedPipeline } from "./proof-handler.ts";
import type { Invocation, ProofRun } from "./proof-run.ts";
import type { ProofTables } from "./proof-tables.ts";
import type { ProofSetup } from "./proof-world.ts";

export interface ProofServices {
  readonly setup: ProofSetup;
  readonly scheduler: Scheduler;
  readonly run: ProofRun;
  readonly seed: string;
  readonly history: History;
  readonly ports: SimPorts & { readonly receipts: Receipts };
  readonly broker: Broker;
  readonly queue: Queue;
  readonly deadLetters: Queue;
  readonly ledger: Ledger;
  readonly caller: StoreCaller;
  readonly tables: ProofTables;
  /** The receipts in flight at each process, newest first. */
  readonly inFlight: Map<string, string[]>;
  readonly uses: OutsideUse[];
  readonly failures: Map<string, string>;
}

const RESTART_MS = 1_000;
const RECEIPTS_MAX = 10;

export class ProofConsumer {
  readonly name: string;
  readonly #services: ProofServices;
  #incarnation = 0;
  #ended = false;
  #process: SimProcess | null = null;

  constructor(name: string, services: ProofServices) {
    this.name = name;
    this.#services = services;
  }

  /** Whether the process runs, and is neither stalled nor waiting to restart. */
  get idle(): boolean {
    return this.#process?.alive === true && !this.#process.frozen;
  }

  start(): void {
    if (this.#ended || this.#process?.alive) return;
    this.#incarnation += 1;
    const process = new SimProcess(this.name, this.#services.scheduler, () => this.#restart());
    this.#process = process;
    void this.#createConsumer(process).start();
  }

  stall(ms: number): void {
    const process = this.#process;
    process?.freeze();
    this.#services.scheduler.after(ms, 0, () => process?.thaw());
  }

  end(): void {
    this.#ended = true;
    this.#process?.kill();
  }

  #restart(): void {
    this.#services.inFlight.delete(this.name);
    this.#services.scheduler.after(RESTART_MS, 0, () => this.start());
  }

  #createConsumer(process: SimProcess): Consumer {
    const { setup, ports, queue, deadLetters, run, seed, uses } = this.#services;
    const { fetch, input, rows } = setup;
    const random = createSeededRandom(`${seed} ${this.name} ${this.#incarnation}`);
    const pipeline = probedPipeline(setup.pipeline, process, {
      run,
      fetch,
      random: random.fork("handler"),
      onUse: (use) => void uses.push(use),
      // Handlers get a record's identity, sinks its key in the ledger.
      nameOf: (key) => ports.names.ofOutboxKey(ports.names.ofKey(key)),
    });
    const { visibilityMs } = pipeline;
    const ledger = this.#ledger(process);
    const scope = { pipeline: pipeline.name, generation: pipeline.generation };
    const service = { name: "queue", downUntil: 0 };
    const work = createSimQueue(ports, process, queue, { service, role: "work" });
    const renewer = createLeaseRenewer(
      { queue: work, ledger, scope, clock: process.clock, telemetry: SILENT },
      { visibilityMs, leaseMs: visibilityMs },
    );
    return createConsumer(
      {
        clock: process.clock,
        turn: process.turn,
        random,
        ledger,
        renewer,
        rows,
        queue: this.#probed(process, work),
        deadLetters: createSimQueue(ports, process, deadLetters, { service, role: "dead-letters" }),
        objects: input.objects,
        sink: this.#sink(pipeline),
        telemetry: this.#telemetry(),
      },
      { pipeline, owner: `${this.name}#${this.#incarnation}`, runId: `run-${this.#incarnation}` },
    );
  }

  #sink({ sink }: Pipeline): Sink | null {
    if (sink === null) return null;
    if (typeof sink === "function") return createFunctionSink(sink);
    const { tables } = this.#services;
    return sink.database === null ? tables.transactional() : tables.idempotent();
  }

  /** The cause of a failure appears only in the log. */
  #telemetry(): Telemetry {
    const { failures, ports } = this.#services;
    return {
      ...SILENT,
      log(_level, message, fields = {}) {
        if (fields.error_class === undefined) return;
        const name = ports.names.ofOutboxKey(String(fields.idempotency_key ?? ""));
        failures.set(name, message.replace(/^[^:]*: /, ""));
      },
    };
  }

  /** A queue whose acknowledgements are points. */
  #probed(process: SimProcess, inner: Queue): Queue {
    const { run, inFlight, ports } = this.#services;
    return {
      ...inner,
      async receive(request, signal) {
        const deliveries = await inner.receive(request, signal);
        const previous = inFlight.get(process.name) ?? [];
        const received = deliveries.map(({ receipt }) => receipt);
        inFlight.set(process.name, [...received, ...previous].slice(0, RECEIPTS_MAX));
        return deliveries;
      },
      deleteBatch(receipts) {
        const record = receipts.flatMap((each) => ports.receipts.get(each)?.names ?? [])[0] ?? "";
        const invocation: Invocation = { process, record, key: "", waiting: 1 };
        return run.at(invocation, "ack", "acknowledges the message", () =>
          inner.deleteBatch(receipts),
        );
      },
    };
  }

  /** A ledger whose commits are points. */
  #ledger(process: SimProcess): Ledger {
    const { run, ports, ledger, caller } = this.#services;
    const service = { name: "ledger", downUntil: 0 };
    const inner = createSimLedger(ports, process, ledger, { service, time: "done", caller });
    const at = <T>(commits: readonly { readonly key: string }[], work: () => Promise<T>) => {
      const record = ports.names.ofKey(commits[0]?.key ?? "");
      const invocation: Invocation = { process, record, key: "", waiting: 1 };
      return run.at(invocation, "commit", "commits", work);
    };
    return {
      ...inner,
      commit: (scope, commits) => at(commits, () => inner.commit(scope, commits)),
      commitDirect: (scope, commits) => at(commits, () => inner.commitDirect(scope, commits)),
    };
  }
}

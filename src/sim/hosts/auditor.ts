// Auditor: `tidegate audit` as a process of its own, beside live traffic. It meets the faults of
// every call and may crash at any of them; then it says nothing. Its findings go into the history,
// where checkers compare them with what happened.
//   U1. The sink is read as `tidegate audit` reads it: tables by their production lister, the
//       simulated sinks by the same port. A transactional sink is in the ledger's database.

import type { AuditLine } from "../../audit/audit-line.ts";
import type { QueueSnapshot } from "../../audit/queue-snapshot.ts";
import { days, durationMs, type EpochMs, epochMs, minutes } from "../../core/units.ts";
import { isHeldFailure } from "../../ingest/late/held-note.ts";
import { readQueuedStates } from "../../ingest/late/queued-states.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import type { EffectLister } from "../../ports/effect-lister.ts";
import type { Ledger } from "../../ports/ledger.ts";
import { createTableEffects } from "../../sinks/table/index.ts";
import type { AuditFinding, StrayEffect } from "../history.ts";
import { createSimEffects } from "../ports/effect-table.ts";
import { BUCKET, createSimLister } from "../ports/sim-bucket.ts";
import { createSimLedger } from "../ports/sim-ledger.ts";
import { SCOPE, type WorldServices } from "../services.ts";
import type { Topology } from "../topology.ts";
import type { WorldParts } from "../world-parts.ts";
import { queueLooks } from "./completeness.ts";
import { SimProcess } from "./process.ts";

export interface AuditorOptions {
  readonly topology: Topology;
  readonly parts: WorldParts;
}

export const AUDIT_GRACE_MS = minutes(1);
const PAUSE_MS = minutes(1);

export class Auditor {
  readonly #services: WorldServices;
  readonly #options: AuditorOptions;
  readonly #pipeline: () => Pipeline;
  #runs = 0;
  #hasFinal = false;
  #process: SimProcess | null = null;

  /** `pipeline` is for reading messages: its handler never runs. */
  constructor(services: WorldServices, options: AuditorOptions, pipeline: () => Pipeline) {
    this.#services = services;
    this.#options = options;
    this.#pipeline = pipeline;
  }

  get busy(): boolean {
    return this.#process?.alive === true;
  }

  /** Starts audits in equal intervals, if the world has some. */
  schedule(at: (ms: number, work: () => void) => void, spanMs: number): void {
    const { audits = 0 } = this.#options.topology;
    for (let nth = 1; nth <= audits; nth += 1) at((spanMs * nth) / audits, () => this.start());
  }

  /** Starts the last audit of a world at its first call; true once that has ended. */
  isFinal(): boolean {
    if ((this.#options.topology.audits ?? 0) === 0) return true;
    if (this.#hasFinal) return !this.busy;
    this.#hasFinal = true;
    this.start();
    return false;
  }

  /** Starts an audit, unless one is in progress. */
  start(): void {
    if (this.busy) return;
    this.#runs += 1;
    const process = new SimProcess(`audit-${this.#runs}`, this.#services.scheduler, () => {});
    this.#process = process;
    void this.#run(process)
      .catch(() => undefined) // The bucket or the ledger was down; the next audit will do.
      .finally(() => process.kill());
  }

  async #run(process: SimProcess): Promise<void> {
    const { history, ports, bucket, endpoints, scheduler } = this.#services;
    const { parts } = this.#options;
    const startedAt = epochMs(scheduler.now);
    const lines: AuditLine[] = [];
    const ledger = this.#ledger(process);
    const before = await this.#strays();
    await parts.runAudit(
      {
        clock: process.clock,
        ledger,
        lister: createSimLister(ports, process, bucket, endpoints.objects),
        effects: await this.#effects(process, ledger),
        readQueue: () => this.#readQueue(startedAt),
      },
      {
        scope: SCOPE,
        bucket: BUCKET,
        prefix: "",
        from: null,
        to: startedAt,
        startedAt,
        graceMs: AUDIT_GRACE_MS,
        pauseMs: durationMs(PAUSE_MS),
        retentionMs: days(1),
        isHeld: isHeldFailure,
        handlesRemovals: true,
      },
      (line) => lines.push(line),
      new AbortController().signal,
    );
    const current = bucket.list().map((object) => ({
      object: object.key,
      name: bucket.nameOf(object),
    }));
    const findings = lines.map((line) => this.#findingOf(line));
    const strays = { before, after: await this.#strays() };
    history.add(process.name, { kind: "audited", startedAt, findings, current, strays });
  }

  #findingOf({ key: object, etag, status }: AuditLine): AuditFinding {
    const name = etag === null ? null : this.#services.bucket.nameOf({ etag });
    return { object, name, status, ofSink: etag === null };
  }

  /** U1 */
  async #effects(
    process: SimProcess,
    { sinkStore }: Pick<Ledger, "sinkStore">,
  ): Promise<EffectLister[]> {
    const { ports, table, tables, endpoints } = this.#services;
    if (tables !== null && sinkStore !== null) {
      return await createTableEffects(sinkStore, "sqlite", tables.spec.tables);
    }
    const isInLedger = this.#options.topology.sink === "transactional";
    return [createSimEffects(ports, process, table, endpoints[isInLedger ? "ledger" : "sink"])];
  }

  /** What is stray at this moment, without faults. */
  async #strays(): Promise<StrayEffect[]> {
    const { ledger, table, tables, ports } = this.#services;
    const listers =
      tables === null
        ? []
        : await createTableEffects(tables.memory.store, "sqlite", tables.spec.tables);
    const request = { bucket: BUCKET, prefix: "", after: null };
    const pages = await Promise.all(listers.map((lister) => lister.list(request)));
    const effects = tables === null ? table.effects() : pages.flatMap((page) => page.effects);
    const strays: StrayEffect[] = [];
    for (const { key: object, recordKey } of effects) {
      if ((await ledger.show(SCOPE, recordKey)) !== undefined) continue;
      strays.push({ object, name: ports.names.ofKey(recordKey) });
    }
    return strays;
  }

  async #readQueue(now: EpochMs): Promise<QueueSnapshot> {
    const looks = queueLooks(this.#services);
    const states = await readQueuedStates(looks, this.#pipeline());
    return { kind: "exact", ...states, settledBefore: now };
  }

  #ledger(process: SimProcess) {
    const { ports, ledger, endpoints, ledgerCaller } = this.#services;
    const { ledgerTime: time } = this.#options.topology;
    const options = { service: endpoints.ledger, time, caller: ledgerCaller };
    return createSimLedger(ports, process, ledger, options);
  }
}

// Sources: the pipelines, ledger and queues that an operator works on. Every command, the console
// and the library find them here.
//   S1. One rule finds the server and the ledger (find-server.ts): what the caller names, else what
//       the environment names, else the cloud that runs on the data folder, else the default.
//   S2. Everything is opened when it is first needed, and once; a failed opening is tried again by
//       the next call. The ledger is opened for reading until an action needs to write; it is never
//       created here.
//   S3. What the caller passes open stays open. `close` closes the rest, the last opened first.
//   S4. Without a pipeline, all pipelines of the ledger are read. An action needs one of them, and
//       one generation. Unless it is named, the generation of a replay never counts. Of several
//       others, only those count that have notes of the kind that the action is about, if any has.

import { refuseConfig, TidegateError } from "../core/errors.ts";
import { days } from "../core/units.ts";
import { queueInDossiers } from "../ingest/dead-letters/dossier-list.ts";
import type { Pipeline } from "../ingest/spec/define-pipeline.ts";
import type { OwnDecoding } from "../ingest/spec/own-source.ts";
import { systemPorts } from "../platform/index.ts";
import type { Clock } from "../ports/clock.ts";
import type { Ledger, NoteKind } from "../ports/ledger.ts";
import type { ObjectLister } from "../ports/objects/object-lister.ts";
import type { ObjectSource } from "../ports/objects/object-source.ts";
import type { Outbox } from "../ports/outbox.ts";
import type { Queue } from "../ports/queue-receiver.ts";
import type { Random } from "../ports/random.ts";
import type { LedgerScope } from "../ports/record.ts";
import { isReplay } from "../replay/replay-registry.ts";
import {
  type AwsEnvironment,
  openAwsEnvironment,
  openAwsLister,
  openAwsObjects,
} from "../run/open/aws-environment.ts";
import { closeAll } from "../run/open/close-all.ts";
import { findServer, ledgerUrl, type Server } from "../run/open/find-server.ts";
import { lateQueueOf } from "../run/open/late-queue.ts";
import { isPipelineFile } from "../run/open/load-pipeline.ts";
import { type OpenLedgerOptions, openLedger } from "../run/open/open-ledger.ts";
import { openOutbox } from "../run/open/open-outbox.ts";
import { type OpenedTarget, openTarget } from "../run/open/open-target.ts";
import { type PreparedRun, prepareRun } from "../run/prepare-run.ts";
import {
  chooseScope,
  filtered,
  findNamed,
  type Named,
  outboxUrl,
  refuseMixed,
  runSettingsOf,
  urlOf,
} from "./named-pipeline.ts";
import { Once } from "./once.ts";

export type { Clock } from "../ports/clock.ts";
export type { Random } from "../ports/random.ts";
export type { LedgerScope } from "../ports/record.ts";

/** Which pipeline, and where its ledger and queues are. */
export interface SourceOptions {
  /** The pipeline, its file or its name. Default: all pipelines of the ledger. */
  readonly pipeline?: Pipeline | string | undefined;
  /** File of a pipeline that was passed: digests of its code cover it and its local imports. */
  readonly file?: string | undefined;
  /** Default: the pipeline's, 0 of a named pipeline, otherwise all. */
  readonly generation?: number | undefined;
  /** A ledger URL, or an open ledger. Default: ledger.db in the data folder. */
  readonly ledger?: string | Ledger | undefined;
  /** Name, URL or ARN of the source queue, or the queue. Default: the pipeline's. */
  readonly queue?: string | Queue | undefined;
  /** ARN of the topic that jobs are sent to, instead of a queue. */
  readonly topic?: string | undefined;
  /** An outbox URL, or an open outbox. Default: the ledger's URL, except on DynamoDB. */
  readonly outbox?: string | Outbox | undefined;
  /** Name, URL or ARN of the dead-letter queue, or the queue. Default: by the redrive policy. */
  readonly deadLetterQueue?: string | Queue | null | undefined;
  /** Database of the tables, by URL or file. Default: the pipeline's, else the ledger's. */
  readonly tablesDatabase?: string | undefined;
  /** Reads objects. Default: S3 at the endpoint. */
  readonly objects?: ObjectSource | undefined;
  /** SQS and S3 endpoint. Default: see S1. */
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  /** Folder of the default ledger, and of a cloud that may run. Default: ".tidegate". */
  readonly data?: string | undefined;
  /** Believes the clock, however far it is ahead of a store. Default: false. */
  readonly acceptClock?: boolean | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
}

export interface OpenQueues {
  readonly queue: Queue;
  /** Null where dead letters stay in the source queue. */
  readonly deadLetters: Queue | null;
  /** With the objects, and looks into the queues; null if the caller passed open queues. */
  readonly environment: AwsEnvironment | null;
}

interface OpenedLedger {
  readonly ledger: Ledger;
  readonly close: () => Promise<void>;
}

export class Sources {
  readonly clock: Clock;
  readonly random: Random;
  readonly #options: SourceOptions;
  readonly #closers: (() => unknown)[] = [];
  readonly #others = new Map<string, Sources>();
  readonly #named = new Once<Named | null>();
  readonly #reader = new Once<Ledger>();
  readonly #writer = new Once<Ledger>();
  readonly #queues = new Once<OpenQueues | null>();
  readonly #server = new Once<Server>();
  readonly #outbox = new Once<Outbox>();
  readonly #target = new Once<OpenedTarget["target"]>();
  readonly #objects = new Once<ObjectSource>();
  readonly #lister = new Once<ObjectLister>();

  constructor(options: SourceOptions = {}) {
    this.#options = options;
    this.clock = options.clock ?? systemPorts.clock;
    this.random = options.random ?? systemPorts.random;
  }

  /** The pipeline; null if only its name is known, or none was named. */
  async pipeline(): Promise<Pipeline | null> {
    return (await this.#name())?.pipeline ?? null;
  }

  /** The pipeline with the settings of a run; throws if only its name is known, or none. */
  async run(): Promise<PreparedRun> {
    const pipeline = await this.pipeline();
    if (pipeline === null) {
      refuseConfig("this needs the pipeline: name its file, or pass it");
    }
    return prepareRun("run", pipeline, runSettingsOf(this.#options));
  }

  /** The file of the pipeline, if it is known. */
  get file(): string | undefined {
    const { pipeline, file } = this.#options;
    if (typeof pipeline !== "string") return file;
    return isPipelineFile(pipeline) ? pipeline : undefined;
  }

  /** The URL of the ledger (S1); an open ledger has none, and tables are not beside it. */
  get ledgerUrl(): string {
    const { ledger, data } = this.#options;
    return ledgerUrl({ ledger: urlOf(ledger), data });
  }

  /** How the pipeline reads own messages; null if it is not known or has none. */
  async own(): Promise<OwnDecoding | null> {
    return (await this.pipeline())?.source.own ?? null;
  }

  /** The ledger, for reading (S2). */
  reader(): Promise<Ledger> {
    return this.#reader.get(() => this.#writer.opening ?? this.#openLedger({ readOnly: true }));
  }

  /** The ledger, for an action (S2). */
  writer(): Promise<Ledger> {
    return this.#writer.get(() => this.#openWriter());
  }

  /** Creates the ledger if it is missing; `listing` is for DynamoDB. */
  async createLedger(listing: boolean): Promise<void> {
    await this.#openLedger(listing ? { create: true, listing } : { create: true });
  }

  /** The ledger for an action that creates it or that keeps its records; `close` ends it early. */
  async openLedger(options: OpenLedgerOptions): Promise<OpenedLedger> {
    const { ledger: given, acceptClock = false } = this.#options;
    if (typeof given === "object") return { ledger: given, close: async () => undefined }; // S3
    const ledger = await openLedger(this.ledgerUrl, this.#ports, { ...options, acceptClock });
    return { ledger, close: () => ledger.close() };
  }

  /** The named pipeline, or all pipelines of the ledger (S4); of a generation, if one is named. */
  async scopes(generation?: number): Promise<readonly LedgerScope[]> {
    const named = await this.#name();
    if (named === null) return this.generations(generation);
    return [generation === undefined ? named.scope : { ...named.scope, generation }];
  }

  /** Like `scopes`, but with every generation of the pipeline unless one is named. */
  async generations(wanted = this.#options.generation): Promise<readonly LedgerScope[]> {
    const pipeline = (await this.#name())?.scope.pipeline;
    const stats = await (await this.reader()).stats();
    return stats
      .filter((scope) => pipeline === undefined || scope.pipeline === pipeline)
      .filter(({ generation }) => wanted === undefined || generation === wanted)
      .map((scope) => ({ pipeline: scope.pipeline, generation: scope.generation }));
  }

  /** The scope of an action on notes of that kind; throws if there are several (S4). */
  async scope(about?: NoteKind, generation?: number): Promise<LedgerScope> {
    const scopes = await this.#candidates(about, generation);
    const [scope, ...others] = scopes;
    if (scope !== undefined && others.length === 0) return scope;
    if (scope === undefined && (await (await this.reader()).stats()).length === 0) {
      const hint =
        "Check that this is the ledger you mean; a pipeline is in it after its first run.";
      throw new TidegateError("TG_CONFIG_INVALID", "the ledger has no pipeline yet", { hint });
    }
    throw new TidegateError("TG_CONFIG_INVALID", chooseScope(scopes));
  }

  /**
   * The queue and its dead-letter queue: those that the caller names, else the pipeline's, else
   * what `find` finds. Null if nothing names a queue.
   */
  queues(find?: () => Promise<string | null>): Promise<OpenQueues | null> {
    return this.#queues.get(() => this.#openQueues(find ?? (() => this.#queueInDossiers())));
  }

  /** The queue as the caller names it; null if it does not. */
  queueName(): string | null {
    const { queue } = this.#options;
    return typeof queue === "object" ? queue.name : (queue ?? null);
  }

  /** Whether the caller names a pipeline. */
  isNamed(): boolean {
    return this.#options.pipeline !== undefined;
  }

  /** Whether the caller names either a queue or a topic. */
  hasOneTarget(): boolean {
    return (this.#options.topic === undefined) !== (this.#options.queue === undefined);
  }

  /** The outbox of producers. */
  outbox(): Promise<Outbox> {
    return this.#outbox.get(() => this.#openOutbox());
  }

  /** The topic or queue that jobs are sent to. */
  target(): Promise<OpenedTarget["target"]> {
    return this.#target.get(() => this.#openTarget());
  }

  /** Its name in the outbox: the last part of a name, URL or ARN; nothing is opened. */
  async targetName(): Promise<string> {
    const { queue, topic } = await this.#targetNamed();
    const name = (topic ?? queue)?.split(/[/:]/).at(-1) ?? "";
    if (name !== "") return name;
    const message = "the queue of the jobs is unknown; name a queue or a topic";
    refuseConfig(message);
  }

  /** Where queues and objects are (S1). */
  server(): Promise<Server> {
    const { endpoint, region, data, ledger, outbox } = this.#options;
    const find = () => findServer({ endpoint, region, data, ledger, outbox });
    return this.#server.get(find, ({ cloud }) => cloud === null || cloud.failure === null);
  }

  /** The same places, and the pipeline of a file. */
  of(file: string): Sources {
    const sources = this.#others.get(file) ?? new Sources({ ...this.#options, pipeline: file });
    if (!this.#others.has(file)) this.onClose(() => sources.close());
    this.#others.set(file, sources);
    return sources;
  }

  /** Calls `close` when these sources are closed. */
  onClose(close: () => unknown): void {
    this.#closers.push(close);
  }

  /** Reads objects (S1). */
  objects(): Promise<ObjectSource> {
    return this.#objects.get(() => this.#openObjects());
  }

  /** Lists buckets (S1). */
  lister(): Promise<ObjectLister> {
    return this.#lister.get(() => this.#openLister());
  }

  /** S3 */
  async close(): Promise<void> {
    await closeAll(this.#closers.splice(0));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** S4 */
  async #candidates(about?: NoteKind, generation?: number): Promise<readonly LedgerScope[]> {
    const scopes = await this.scopes(generation);
    const isNamed = (generation ?? this.#options.generation) !== undefined;
    if (scopes.length < 2 || isNamed) return scopes;
    const ledger = await this.reader();
    const live = await filtered(scopes, async (scope) => !(await isReplay(ledger, scope)));
    const isOnePipeline = new Set(live.map(({ pipeline }) => pipeline)).size === 1;
    if (live.length < 2 || about === undefined || !isOnePipeline) return live;
    const page = { after: null, limit: 1 };
    const holding = await filtered(live, async (scope) => {
      return (await ledger.listNotes(scope, about, page)).length > 0;
    });
    return holding.length > 0 ? holding : live.slice(0, 1);
  }

  #name(): Promise<Named | null> {
    return this.#named.get(() => findNamed(this.#options));
  }

  get #ports() {
    return { clock: this.clock, random: this.random, turn: systemPorts.turn };
  }

  async #openWriter(): Promise<Ledger> {
    const pipeline = await this.pipeline();
    const retention = pipeline === null ? {} : { retentionMs: days(pipeline.retention.ledgerDays) };
    return this.#openLedger({ ...retention, create: false });
  }

  async #openObjects(): Promise<ObjectSource> {
    return this.#options.objects ?? openAwsObjects(await this.server()); // S3
  }

  async #openLister(): Promise<ObjectLister> {
    const { lister, close } = await openAwsLister(await this.server());
    this.#closers.push(close);
    return lister;
  }

  async #openLedger(mode: OpenLedgerOptions): Promise<Ledger> {
    const { ledger, close } = await this.openLedger(mode);
    this.#closers.push(close);
    return ledger;
  }

  async #openOutbox(): Promise<Outbox> {
    const { outbox: given, ledger, acceptClock = false } = this.#options;
    if (typeof given === "object") return given; // S3
    const url = given ?? outboxUrl(ledger, this.ledgerUrl);
    const outbox = await openOutbox(url, this.#ports, { acceptClock });
    this.#closers.push(() => outbox.close());
    return outbox;
  }

  async #targetNamed() {
    const { topic } = this.#options;
    if (topic !== undefined) return { topic };
    const queue = this.queueName() ?? (await this.pipeline())?.source.queue ?? undefined;
    return { queue };
  }

  async #openTarget(): Promise<OpenedTarget["target"]> {
    const { queue, topic } = this.#options;
    if (typeof queue === "object" && topic === undefined) return queue; // S3
    const server = await this.server();
    const { target, close } = await openTarget({ ...(await this.#targetNamed()), server });
    this.#closers.push(close);
    return target;
  }

  async #queueInDossiers(): Promise<string | null> {
    return queueInDossiers(await this.reader(), await this.scope("dossier"));
  }

  async #openQueues(find: () => Promise<string | null>): Promise<OpenQueues | null> {
    const { queue: given, deadLetterQueue } = this.#options;
    if (given !== undefined && typeof given !== "string") {
      if (typeof deadLetterQueue === "string")
        refuseMixed("deadLetterQueue is a name, but queue is an open queue");
      return { queue: given, deadLetters: deadLetterQueue ?? null, environment: null }; // S3
    }
    if (deadLetterQueue === null) refuseMixed("only an open queue has no deadLetterQueue (null)");
    if (typeof deadLetterQueue === "object") {
      return refuseMixed("queue is a name, but deadLetterQueue is an open queue");
    }
    const pipeline = await this.pipeline();
    const queue = given ?? pipeline?.source.queue ?? (await find());
    if (queue === null) return null;
    const lateQueue = pipeline === null ? undefined : lateQueueOf(pipeline);
    const server = await this.server();
    const environment = await openAwsEnvironment({ queue, deadLetterQueue, lateQueue, server });
    this.#closers.push(() => environment.close());
    return { queue: environment.queue, deadLetters: environment.deadLetters, environment };
  }
}

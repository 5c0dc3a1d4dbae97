// Open console: the console on a running embedded cloud, or on a ledger and queues elsewhere.
//   O1. The console reads its ledger in another thread, on a connection that cannot write. Only
//       with actions it has a second connection, which can.
//   O2. A ledger that does not exist yet is looked for again: a console may be opened first.

import { existsSync } from "node:fs";
import type { Broker } from "../../broker/engine/broker.ts";
import { createBrokerQueue } from "../../cloud/broker-queue.ts";
import type { CloudInside } from "../../cloud/start-cloud.ts";
import {
  type ConsoleHttp,
  createConsoleHttp,
  isConsolePath,
  isUploadPath,
} from "../../console/api/console-http.ts";
import { type Completeness, readCompleteness } from "../../ingest/late/complete-up-to.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import { systemPorts } from "../../platform/index.ts";
import { packageVersion } from "../../platform/package-version.ts";
import type {
  ConsoleReads,
  ConsoleSource,
  ShownPipeline,
} from "../../ports/console/console-source.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { ObjectSource } from "../../ports/objects/object-source.ts";
import type { LedgerScope } from "../../ports/record.ts";
import { listSqliteScopes } from "../../stores/sqlite/ledger/list-scopes.ts";
import type { DevNames } from "../dev/dev-setup.ts";
import type { EmbeddedQueues } from "../open/embedded-queues.ts";
import { boundedLooks } from "../open/look-at-queues.ts";
import { openLedger } from "../open/open-ledger.ts";
import { parseStoreUrl } from "../open/store-url.ts";
import type { RunningPipeline } from "../run-pipeline.ts";
import { createConsoleActions, type OpenedQueues } from "./console-actions.ts";
import { createConsoleControls } from "./console-controls.ts";
import { createConsoleReads } from "./console-reads.ts";
import { type CloudRoles, countsOf, createEmbeddedCloud } from "./embedded-cloud.ts";
import { createLedgerThread } from "./ledger-thread.ts";
import { createMessageMask, type MessageMask } from "./message-mask.ts";
import { createPageFiles } from "./page-files.ts";
import { createRefresher } from "./refresher.ts";
import type { ReplayOwner } from "./replay-reads.ts";

/** Queues with more messages are counted only: each look decodes what it sees. */
const LOOKED_AT_MAX = 1_000;
/** How long the names of pipelines are kept. */
const SCOPES_MS = 5_000;

const now = () => systemPorts.clock.now();

/** How a console is served. */
export interface ConsoleAccess {
  readonly allowActions?: boolean | undefined;
  /** Null or absent: no token, which works on loopback only. */
  readonly token?: string | null | undefined;
  readonly traceUrl?: string | undefined;
  /** Masks of the console, in addition to those of the pipeline. */
  readonly mask?: readonly string[] | undefined;
}

export interface EmbeddedConsoleOptions extends ConsoleAccess {
  readonly endpoint: string;
  readonly region: string | undefined;
  /** The ledger's URL; the file may not exist yet (O2). */
  readonly ledger: string | null;
  /** Absent in a cloud without a pipeline. */
  readonly dev?: {
    readonly pipeline: Pipeline;
    readonly file: string | undefined;
    readonly names: DevNames;
    readonly running: RunningPipeline;
    readonly objects: ObjectSource;
  };
  readonly onError: (error: unknown) => void;
}

/** Serves the console on the port of an embedded cloud. */
export async function mountConsole(
  inside: CloudInside,
  options: EmbeddedConsoleOptions,
): Promise<ConsoleHttp> {
  const { engine, http, exposed } = inside;
  const { dev, ledger: url } = options;
  const names = dev?.names ?? null;
  const roles: CloudRoles = {
    bucket: names?.bucket ?? null,
    prefix: dev?.pipeline.source.prefix ?? "",
    queue: names?.queue ?? null,
    deadLetterQueue: names?.deadLetterQueue ?? null,
    lateQueue: names?.lateQueue ?? null,
  };
  const pipeline = dev?.pipeline ?? null;
  const mask = createMessageMask(pipeline, { mask: options.mask, exposed });
  const cloud = createEmbeddedCloud({ engine, http, mask, roles, now });
  const openQueues = async (): Promise<OpenedQueues> => ({
    queue: createBrokerQueue(engine, { queue: roles.queue ?? "" }),
    deadLetters: createBrokerQueue(engine, { queue: roles.deadLetterQueue ?? "" }),
  });
  const source = await openConsoleSource({
    ...options,
    embedded: true,
    url,
    pipeline,
    running: dev?.running ?? null,
    names: { bucket: roles.bucket, topic: names?.topic ?? null },
    cloud,
    mask,
    completeness: dev === undefined ? null : (ledger) => completenessOf(engine, dev, ledger),
    setup: {
      pipeline,
      file: dev?.file ?? pipeline?.name ?? "",
      queues: roles.queue === null ? [] : [roles.queue],
      server: { endpoint: options.endpoint, region: options.region, cloud: null },
    },
    figures: async () => {
      const all = await countsOf(engine);
      const figures = (name: string | null) => {
        const counts = all.find((each) => each.name === name);
        if (counts === undefined) return null;
        const { oldestSentAt } = counts;
        const oldestAgeMs = oldestSentAt === null ? null : Math.max(0, now() - oldestSentAt);
        return { ...counts, oldestAgeMs };
      };
      return { queue: figures(roles.queue), deadLetters: figures(roles.deadLetterQueue) };
    },
    outage: () => engine.outage,
    openQueues: roles.queue === null ? null : openQueues,
    embeddedQueues: async () => {
      const queues = roles.queue === null ? await countsOf(engine) : [{ name: roles.queue }];
      return { endpoint: options.endpoint, queues: queues.map(({ name }) => name) };
    },
    close: async () => undefined,
  });
  const console = serveSource(source, { ...options, exposed });
  inside.mount({ isPath: isConsolePath, streams: isUploadPath, answer: console.answer });
  return console;
}

/** As `completeUpTo` of the pipeline, without injected faults and with bounded looks. */
async function completenessOf(
  engine: Broker,
  { pipeline, names, objects }: NonNullable<EmbeddedConsoleOptions["dev"]>,
  ledger: Ledger,
): Promise<Completeness> {
  const { queue, deadLetterQueue, lateQueue } = names;
  const queues = [queue, deadLetterQueue, lateQueue].filter((name) => name !== null);
  const looks = await boundedLooks(engine, queues, LOOKED_AT_MAX, deadLetterQueue);
  return readCompleteness({ ...systemPorts, ledger, looks, objects }, pipeline);
}

export interface SourceParts extends Omit<ConsoleAccess, "mask"> {
  readonly embedded: boolean;
  readonly url: string | null;
  readonly pipeline: Pipeline | null;
  readonly running: RunningPipeline | null;
  readonly names: { readonly bucket: string | null; readonly topic: string | null };
  readonly cloud: ConsoleSource["cloud"];
  readonly mask: MessageMask;
  readonly completeness: ((ledger: Ledger) => Promise<Completeness>) | null;
  readonly setup: Parameters<typeof createConsoleReads>[0]["setup"];
  readonly figures: Parameters<typeof createConsoleReads>[0]["figures"];
  readonly outage: Parameters<typeof createConsoleReads>[0]["outage"];
  readonly openQueues: (() => Promise<OpenedQueues>) | null;
  /** The queues that may have the message of a record; null on SQS. */
  embeddedQueues(): Promise<EmbeddedQueues | null>;
  close(): Promise<void>;
}

/** The console's source on these parts; it opens the ledger (O1, O2). */
export async function openConsoleSource(parts: SourceParts): Promise<ConsoleSource> {
  const { url, pipeline, allowActions = false, openQueues } = parts;
  const owner = pipeline === null ? null : ownerOf(pipeline, parts.mask.isActive);
  const thread = url === null ? null : createLedgerThread({ url, owner }); // O1
  let writer: Ledger | null = null;
  let isFound = false;
  const pipelines = createRefresher(systemPorts.clock, async () => pipelinesOf(parts), SCOPES_MS);
  const createReads = () =>
    createConsoleReads({
      ...parts,
      ledger: isFound ? (thread?.reads ?? null) : null,
      pipelines: async () => (await pipelines.value()) ?? [],
    });
  const find = async () => {
    if (isFound || url === null || isMissing(url)) return false;
    const options = allowActions ? { migrate: false } : { readOnly: true };
    const opened = await openLedger(url, systemPorts, options); // A wrong ledger fails here.
    if (allowActions) writer = opened;
    else await opened.close();
    isFound = true;
    return true;
  };
  await find();
  let reads = createReads();
  const current = async () => {
    if (await find()) reads = createReads(); // O2
    return reads;
  };
  return {
    embedded: parts.embedded,
    version: packageVersion(),
    readOnly: !allowActions,
    reads: lazyReads(current),
    cloud: parts.cloud,
    get actions() {
      if (writer === null || openQueues === null) return null;
      const { views } = parts.mask;
      return createConsoleActions({ ...systemPorts, ledger: writer, pipeline, openQueues, views });
    },
    get controls() {
      if (writer === null || url === null) return null;
      const { embeddedQueues } = parts;
      return createConsoleControls({
        ...systemPorts,
        ledger: writer,
        url,
        pipeline,
        embeddedQueues,
      });
    },
    async close() {
      await thread?.close();
      await parts.close();
      await writer?.close();
    },
  };
}

/** Also of a file without a ledger, as a start that was killed leaves it behind (O2). */
function isMissing(url: string): boolean {
  const location = parseStoreUrl(url, "ledger");
  return location.store === "sqlite" && scopesIn(location.path) === null;
}

function scopesIn(path: string): LedgerScope[] | null {
  return existsSync(path) ? listSqliteScopes(path) : null;
}

/** What finds its replays; functions cannot be sent to another thread. */
function ownerOf({ name, generation, sink }: Pipeline, hidden: boolean): ReplayOwner {
  const tables = typeof sink === "function" ? null : sink;
  return { pipeline: { name, generation, sink: tables }, hidden };
}

/** The pipeline of this console, and all others of its ledger file. */
function pipelinesOf({ url, pipeline, running }: SourceParts): ShownPipeline[] {
  const own = pipeline === null ? [] : [{ name: pipeline.name, generation: pipeline.generation }];
  const location = url === null ? null : parseStoreUrl(url, "ledger");
  const scopes = location?.store === "sqlite" ? scopesIn(location.path) : null;
  const others = (scopes ?? []).map((scope) => {
    return { name: scope.pipeline, generation: scope.generation };
  });
  const isOther = ({ name, generation }: (typeof others)[0]) =>
    name !== pipeline?.name || generation !== pipeline.generation;
  return [...own, ...others.filter(isOther)].map((each, at) => {
    return { ...each, running: at === 0 && running !== null && each.name === running.name };
  });
}

/** O2 */
function lazyReads(current: () => Promise<ConsoleReads>): ConsoleReads {
  return {
    pipelines: async () => (await current()).pipelines(),
    flow: async (scope, looked) => (await current()).flow(scope, looked),
    records: async (scope, search) => (await current()).records(scope, search),
    record: async (scope, key) => (await current()).record(scope, key),
    deadLetterGroups: async (scope, page) => (await current()).deadLetterGroups(scope, page),
    deadLetters: async (scope, group, page) => (await current()).deadLetters(scope, group, page),
    time: async (scope) => (await current()).time(scope),
    runs: async (scope, page) => (await current()).runs(scope, page),
    setupCheck: async (scope) => (await current()).setupCheck(scope),
    pipelineState: async (scope) => (await current()).pipelineState(scope),
    replays: async (scope, page) => (await current()).replays(scope, page),
    replay: async (scope, run) => (await current()).replay(scope, run),
    replayDiff: async (scope, run) => (await current()).replayDiff(scope, run),
    audits: async (scope, page) => (await current()).audits(scope, page),
    audit: async (scope, id) => (await current()).audit(scope, id),
  };
}

/** The console as a function over HTTP. */
export function serveSource(
  source: ConsoleSource,
  options: ConsoleAccess & {
    readonly exposed: boolean;
    readonly onError: (error: unknown) => void;
  },
): ConsoleHttp {
  const { token = null, exposed, traceUrl, onError } = options;
  const page = createPageFiles();
  return createConsoleHttp({ ...systemPorts, source }, { token, exposed, traceUrl, page, onError });
}

// Watch: what a screen shows of a pipeline again and again: the pages of its ledger, its flow and
// its completeness.
//   W1. The ledger is read in another thread, on a connection that cannot write (page-thread.ts).
//       This thread, which may run the pipeline, only looks at queues and counters.
//   W2. A ledger that does not exist yet is looked for again: a watch may be opened first.
//   W3. Every answer is masked before it leaves.
//   W4. SQS bills every request: without a page that looks, its queues are asked once in a minute.

import { existsSync } from "node:fs";
import {
  type Completeness,
  type QueueLook,
  readCompleteness,
  readStoredCompleteness,
} from "../../ingest/late/complete-up-to.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import { systemPorts } from "../../platform/index.ts";
import type { ObjectSource } from "../../ports/objects/object-source.ts";
import type { LedgerScope } from "../../ports/record.ts";
import { openLedger } from "../../run/open/open-ledger.ts";
import { parseStoreUrl } from "../../run/open/store-url.ts";
import { listSqliteScopes } from "../../stores/sqlite/ledger/list-scopes.ts";
import type { CloudContents, CloudRoles } from "../cloud/embedded-cloud.ts";
import type { SetupCheckOptions } from "../doctor/setup-check.ts";
import type { MessageMask } from "../masks/message-mask.ts";
import { createPageMasks, type PageAnswers } from "../masks/page-masks.ts";
import type { SourceOptions } from "../sources.ts";
import { asLedger, type FlowSources, readFlow, type ScopeFacts } from "./flow-facts.ts";
import type { LedgerPages } from "./ledger-pages.ts";
import { createPageThread } from "./page-thread.ts";
import type { RecordSearch } from "./record-pages.ts";
import { createRefresher } from "./refresher.ts";
import type { TimeView } from "./time-page.ts";

export interface WatchOptions extends Pick<FlowSources, "pipeline" | "running" | "outage"> {
  /** The ledger's URL; null if there is none, and its file may not exist yet (W2). */
  readonly url: string | null;
  readonly topic: string | null;
  readonly roles: CloudRoles;
  readonly cloud: Pick<CloudContents, "figures">;
  /** Whether its requests are billed (W4). */
  readonly isBilled: boolean;
  readonly mask: MessageMask;
  /** What is in the queues; null if they cannot be looked at. */
  readonly looks: (() => Promise<readonly QueueLook[]>) | null;
  readonly objects: ObjectSource | null;
  readonly setup: SetupCheckOptions;
}

const SCOPES_MS = 5_000;
const SETUP_MS = 30_000;
const COMPLETE_MS = 1_000;
/** Queued messages are decoded by the thread that runs handlers. */
const LOOK_SHARE = 0.01;
/** W4 */
const BILLED_MS = { looked: 5_000, unwatched: 60_000 };

const { clock } = systemPorts;

/** A pipeline of the ledger. */
export interface WatchedPipeline {
  readonly name: string;
  readonly generation: number;
  /** Whether this process runs it. */
  readonly running: boolean;
}

/** The pages of a ledger that does not exist yet. */
const EMPTY = {
  records: () => ({ records: [], next: null, complete: true, looked: 0 }),
  record: () => null,
  deadLetterGroups: () => ({ at: clock.now(), groups: [], total: 0, more: false, next: null }),
  deadLetters: () => null,
  runs: () => ({ runs: [], next: null }),
  pipelineState: (scope: LedgerScope) => ({ ...scope, paused: null, processes: [] }),
  replays: () => ({ replays: [], next: null }),
  replay: () => null,
  replayDiff: () => null,
  audits: () => ({ audits: [], next: null }),
  audit: () => null,
} satisfies { readonly [Name in keyof LedgerPages]?: (scope: LedgerScope) => PageAnswers[Name] };

type PageName = keyof typeof EMPTY;
type NamedPages = Pick<LedgerPages, PageName>;

export interface WatchedPages extends Omit<NamedPages, "records"> {
  records(scope: LedgerScope, search: RecordSearch): Promise<PageAnswers["records"]>;
}

export interface Watch {
  /** The pipeline of the watch, and all others of its ledger file. */
  pipelines(): Promise<readonly WatchedPipeline[]>;
  flow(scope: LedgerScope | null, isLooked: boolean): ReturnType<typeof readFlow>;
  time(scope: LedgerScope): Promise<TimeView>;
  setupCheck(): Promise<Awaited<ReturnType<typeof checkSetup>>>;
  readonly pages: WatchedPages;
  /** Whether there is a ledger to act on. */
  hasLedger(): Promise<boolean>;
  close(): Promise<void>;
}

/** Throws if the ledger exists and cannot be read. */
export async function openWatch(options: WatchOptions): Promise<Watch> {
  const { url, pipeline, mask } = options;
  const owner = pipeline === null ? null : ownerOf(pipeline, mask.isActive);
  const thread = url === null ? null : createPageThread({ url, owner }); // W1
  const hasLedger = ledgerFinder(url);
  await hasLedger();
  const factsOf = scopeFacts(options, thread?.pages ?? null, hasLedger);
  const pipelines = createRefresher(clock, async () => pipelinesOf(options), SCOPES_MS);
  const setup = createRefresher(clock, () => checkSetup(pipeline, options.setup), SETUP_MS);
  const names = { bucket: options.roles.bucket, topic: options.topic };
  const { running, outage } = options;
  const sources = { clock, pipeline, running, names, figures: figuresOf(options), outage };
  const pages = pagesOf(thread?.pages ?? null, mask, hasLedger);
  return {
    hasLedger,
    pages: {
      ...pages,
      records: (scope, search) => pages.records(scope, search, names.bucket),
    },
    pipelines: async () => (await pipelines.value()) ?? [],
    async flow(scope, isLooked) {
      const facts = await readFlow(sources, scope, isLooked, scope && (await factsOf(scope)));
      return { ...facts, heldBy: mask.views.clause(facts.heldBy) }; // W3
    },
    async time(scope) {
      const facts = await factsOf(scope);
      const reached = (await facts?.completeness.value()) ?? null;
      if (facts === null || reached === null) return emptyTime(scope);
      const looked = facts.looked && reached.isExact;
      const view = await facts.pages.time(scope, { completeness: reached, looked });
      return view === null ? emptyTime(scope) : mask.views.time(view); // W3
    },
    async setupCheck() {
      const unknown = ["the check is still running; ask again"];
      return (await setup.value()) ?? { at: clock.now(), findings: [], checked: 0, unknown };
    },
    close: async () => thread?.close(),
  };
}

async function checkSetup(pipeline: Pipeline | null, options: SetupCheckOptions) {
  // Loaded here to keep the start of a server fast.
  const { readSetupCheck } = await import("../doctor/setup-check.ts");
  return readSetupCheck(pipeline, options, clock.now());
}

/** Looks for the ledger until it is there (W2); a wrong one fails. */
function ledgerFinder(url: string | null): () => Promise<boolean> {
  let isFound = false;
  return async () => {
    if (isFound || url === null || isMissing(url)) return isFound;
    await (await openLedger(url, systemPorts, { readOnly: true })).close();
    isFound = true;
    return true;
  };
}

/** Also of a file without a ledger, as a start that was killed leaves it behind (W2). */
function isMissing(url: string): boolean {
  const location = parseStoreUrl(url, "ledger");
  return location.store === "sqlite" && scopesIn(location.path) === null;
}

function scopesIn(path: string): LedgerScope[] | null {
  return existsSync(path) ? listSqliteScopes(path) : null;
}

/** The pages by their names, empty without a ledger, and masked (W3). */
function pagesOf(
  pages: LedgerPages | null,
  mask: MessageMask,
  hasLedger: () => Promise<boolean>,
): NamedPages {
  const masks = createPageMasks(mask);
  const read = (name: PageName) => {
    const masked = masks[name] as ((answer: unknown) => unknown) | undefined;
    return async (scope: LedgerScope, ...given: unknown[]) => {
      if (pages === null || !(await hasLedger())) return EMPTY[name](scope);
      const page = pages[name] as (...given: unknown[]) => Promise<unknown>;
      const answer = await page(scope, ...given);
      return answer === null || masked === undefined ? answer : masked(answer);
    };
  };
  const named = (Object.keys(EMPTY) as PageName[]).map((name) => [name, read(name)]);
  return Object.fromEntries(named) as NamedPages;
}

/** What finds its replays; functions cannot be sent to another thread. */
function ownerOf({ name, generation, sink }: Pipeline, hidden: boolean) {
  const tables = typeof sink === "function" ? null : sink;
  return { pipeline: { name, generation, sink: tables }, hidden };
}

function pipelinesOf({ url, pipeline, running }: WatchOptions): WatchedPipeline[] {
  const own = pipeline === null ? [] : [{ name: pipeline.name, generation: pipeline.generation }];
  const location = url === null ? null : parseStoreUrl(url, "ledger");
  const scopes = location?.store === "sqlite" ? scopesIn(location.path) : null;
  const others = (scopes ?? [])
    .filter((scope) => !isOwn(pipeline, scope))
    .map(({ pipeline: name, generation }) => ({ name, generation }));
  return [...own, ...others].map((each, at) => {
    return { ...each, running: at === 0 && running !== null && each.name === running.name };
  });
}

export function isOwn(pipeline: SourceOptions["pipeline"] | null, scope: LedgerScope): boolean {
  if (pipeline === null || typeof pipeline !== "object") return false;
  return pipeline.name === scope.pipeline && pipeline.generation === scope.generation;
}

/** W4 */
function figuresOf({ roles, cloud, isBilled }: WatchOptions): FlowSources["figures"] {
  const figures = async (name: string | null) => (name === null ? null : cloud.figures(name));
  const both = async () => {
    const names = [roles.queue, roles.deadLetterQueue];
    const [queue = null, deadLetters = null] = await Promise.all(names.map(figures));
    return { queue, deadLetters };
  };
  if (!isBilled) return both;
  const looked = createRefresher(clock, both, BILLED_MS.looked);
  const unwatched = createRefresher(clock, both, BILLED_MS.unwatched);
  const nothing = { queue: null, deadLetters: null };
  return async (isLooked) => (await (isLooked ? looked : unwatched).value()) ?? nothing;
}

/** Null without a ledger, as in a cloud without a pipeline. */
function scopeFacts(
  { pipeline, looks, objects }: WatchOptions,
  pages: LedgerPages | null,
  hasLedger: () => Promise<boolean>,
) {
  const byScope = new Map<string, ScopeFacts>();
  const create = (pages: LedgerPages, scope: LedgerScope): ScopeFacts => {
    const ledger = asLedger(pages);
    const look = isOwn(pipeline, scope) ? looks : null;
    const complete = async (): Promise<Completeness> => {
      if (pipeline === null || look === null) return readStoredCompleteness(ledger, scope);
      return readCompleteness({ ...systemPorts, ledger, looks: await look(), objects }, pipeline);
    };
    const completeness = createRefresher(clock, complete, COMPLETE_MS, LOOK_SHARE);
    return { pages, completeness, looked: look !== null, parked: null, paused: null };
  };
  return async (scope: LedgerScope): Promise<ScopeFacts | null> => {
    if (pages === null || !(await hasLedger())) return null;
    const id = JSON.stringify([scope.pipeline, scope.generation]);
    const facts = byScope.get(id) ?? create(pages, scope);
    byScope.set(id, facts);
    return facts;
  };
}

function emptyTime({ pipeline, generation }: LedgerScope): TimeView {
  return {
    at: clock.now(),
    pipeline,
    generation,
    watermark: null,
    completeUpTo: null,
    heldBy: null,
    looked: false,
    partitions: [],
    held: { count: 0, more: false, items: [] },
    windows: [],
  };
}

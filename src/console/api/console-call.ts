// Console call: one request to the API with its parameters, as its route sees it.

import type { EpochMs } from "../../core/units.ts";
import type { CloudContents, HttpReply, HttpRequest } from "../../operate/cloud/embedded-cloud.ts";
import type { ViewMask } from "../../operate/masks/view-mask.ts";
import type { Operator } from "../../operate/open-operator.ts";
import type { PageRequest } from "../../operate/pages/list-page.ts";
import { isOwn, type Watch } from "../../operate/pages/open-watch.ts";
import type { LedgerScope, SourceOptions } from "../../operate/sources.ts";
import { refuseRequest } from "./console-reply.ts";
import type { FlowTracks } from "./flow-tracks.ts";
import type { Jobs } from "./jobs.ts";

/** Where the answers come from. Each is bounded, and masked before it leaves. */
export interface ConsoleSource {
  readonly version: string;
  /** Whether every action is refused. */
  readonly readOnly: boolean;
  /** Whether it has an embedded cloud. */
  readonly embedded: boolean;
  readonly watch: Watch;
  readonly cloud: CloudContents;
  readonly views: ViewMask;
  /** What actions work on; without a queue, dead letters and held records stay. */
  readonly operator: SourceOptions;
}

export interface ConsoleCall {
  readonly source: ConsoleSource;
  readonly flows: FlowTracks;
  readonly jobs: Jobs;
  readonly request: HttpRequest;
  readonly parameters: URLSearchParams;
  /** The segments of the path that the route's pattern leaves open. */
  readonly names: readonly string[];
  readonly settings: ConsoleSettings;
}

export interface ConsoleSettings {
  readonly readOnly: boolean;
  readonly pollMs: number;
  readonly now: () => EpochMs;
  readonly traceUrl: string | null;
  readonly by: string;
}

export interface ConsoleRoute {
  readonly method: "GET" | "POST" | "PUT";
  /** Relative to /_tidegate/api/v1/; a segment in braces matches any value. */
  readonly path: string;
  /** Whether it changes anything, and so needs --allow-actions. */
  readonly action?: true;
  readonly answer: (call: ConsoleCall) => Promise<object | HttpReply>;
}

/** The route of an action. */
export function post(path: string, answer: ConsoleRoute["answer"]): ConsoleRoute {
  return { method: "POST", path, action: true, answer };
}

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 100;
const TEXT_CHARS_MAX = 2_048;

/** The pipeline that a request is about; null if there is none at all. */
export async function scopeIn(call: ConsoleCall): Promise<LedgerScope | null> {
  const name = textIn(call, "pipeline");
  const generation = numberIn(call, "generation");
  const pipelines = await call.source.watch.pipelines();
  const match = pipelines.find(
    (each) =>
      (name === null || each.name === name) &&
      (generation === null || each.generation === generation),
  );
  if (match !== undefined) return { pipeline: match.name, generation: match.generation };
  if (name === null) return null;
  return { pipeline: name, generation: generation ?? 0 };
}

/** The same, for answers that need a pipeline. */
export async function knownScope(call: ConsoleCall): Promise<LedgerScope> {
  const scope = await scopeIn(call);
  if (scope !== null) return scope;
  return refuseRequest(
    404,
    "NoPipeline",
    "no pipeline has written to the ledger yet; start one with tidegate run or tidegate dev",
  );
}

/** The operator of an action; the caller closes it. */
export async function operatorOf({ source }: ConsoleCall, scope: LedgerScope): Promise<Operator> {
  if (!(await source.watch.hasLedger())) {
    refuseRequest(409, "NoLedger", "the ledger does not exist yet; start a pipeline first");
  }
  // Loaded here to keep the start of a server fast.
  const { openOperator } = await import("../../operate/open-operator.ts");
  const { operator } = source;
  const { generation } = scope;
  const pipeline = isOwn(operator.pipeline, scope) ? operator.pipeline : scope.pipeline;
  return openOperator({ ...operator, pipeline, generation });
}

export function pageIn(call: ConsoleCall): PageRequest {
  const limit = numberIn(call, "limit") ?? LIMIT_DEFAULT;
  if (limit < 1 || limit > LIMIT_MAX) {
    refuseRequest(400, "InvalidLimit", `limit ${limit} is out of range; use 1 to ${LIMIT_MAX}`);
  }
  return { cursor: textIn(call, "cursor"), limit };
}

export function textIn({ parameters }: ConsoleCall, name: string): string | null {
  const text = parameters.get(name);
  if (text === null || text === "") return null;
  if (text.length <= TEXT_CHARS_MAX) return text;
  return refuseRequest(400, "InvalidParameter", `${name} is too long; shorten it`);
}

export function numberIn(call: ConsoleCall, name: string): number | null {
  const text = textIn(call, name);
  if (text === null) return null;
  if (/^-?\d{1,15}$/.test(text)) return Number(text);
  return refuseRequest(400, "InvalidParameter", `${name} must be a whole number`);
}

/** The value, or a refusal if the source has no such thing. */
export function foundIn<T>(value: T | null, what: string): T {
  if (value !== null) return value;
  return refuseRequest(404, "NotFound", `${what} does not exist`);
}

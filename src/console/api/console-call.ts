// Console call: one request to the API with its parameters, as its route sees it.

import type { ConsoleSource, PageRequest } from "../../ports/console/console-source.ts";
import type { HttpReply, HttpRequest } from "../../ports/http/http.ts";
import type { LedgerScope } from "../../ports/record.ts";
import { refuseRequest } from "./console-reply.ts";
import type { FlowTracks } from "./flow-tracks.ts";
import type { Jobs } from "./jobs.ts";

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
  readonly now: () => number;
  readonly traceUrl: string | null;
}

export interface ConsoleRoute {
  readonly method: "GET" | "POST" | "PUT";
  /** Relative to /_tidegate/api/v1/; a segment in braces matches any value. */
  readonly path: string;
  /** Whether it changes anything, and so needs --allow-actions. */
  readonly action?: true;
  readonly answer: (call: ConsoleCall) => Promise<object | HttpReply>;
}

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 100;
const TEXT_CHARS_MAX = 2_048;

/** The pipeline that a request is about; null if there is none at all. */
export async function scopeIn(call: ConsoleCall): Promise<LedgerScope | null> {
  const name = textIn(call, "pipeline");
  const generation = numberIn(call, "generation");
  const pipelines = await call.source.reads.pipelines();
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

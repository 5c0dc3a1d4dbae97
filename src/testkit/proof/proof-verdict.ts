// Proof verdict: whether a run with faults has the same outcome as the run without faults.
//   V1. Rows and emitted effects are the same as in the run without faults.
//   V2. A request that changes something is sent no more often than without faults, unless the
//       receiver can recognise a duplicate: the record's key is in a header, the URL or the body,
//       or the Idempotency-Key is the same every time.
//   V3. A record may be dead-lettered only if at least as many faults were injected as it has
//       attempts.

import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import type { OutsideCall, ProofStep } from "./proof-run.ts";
import type { ProofRecord } from "./proof-samples.ts";
import type { RunResult } from "./proof-world.ts";

export interface ProofProblem {
  readonly kind: "effects" | "outside-call" | "dead-lettered" | "unfinished";
  readonly record: string;
  /** One sentence. */
  readonly what: string;
  readonly hint: string;
  /** The steps up to the damage. */
  readonly steps: readonly ProofStep[];
}

const HINTS = {
  effects:
    "Derive the handler's effects from the record alone, not from the time, randomness or state " +
    "of earlier calls.",
  "outside-call":
    "Send the record's key with the request, for example headers: { 'Idempotency-Key': " +
    "context.key }, or move the call to a sink.",
  "dead-lettered": "Make a second attempt at the same record succeed, whatever the first one did.",
  unfinished: "Make the handler end when its signal aborts.",
} as const;

export function judgeProof(
  run: RunResult,
  baseline: RunResult,
  about: { readonly pipeline: Pipeline; readonly records: readonly ProofRecord[] },
): ProofProblem | null {
  const { pipeline, records } = about;
  for (const record of records) {
    const repeated = repeatedCall(run, baseline, record);
    if (repeated !== null) return repeated;
  }
  for (const { name, title } of records) {
    const end = run.ends.get(name);
    if (end === baseline.ends.get(name)) continue;
    const { steps } = run;
    if (end === "dead-lettered") {
      if (run.injected.length >= pipeline.retry.attempts) return null; // V3
      const why = run.failures.get(name) ?? "it failed";
      const what = `${title} was dead-lettered, but succeeds without faults: ${why}`;
      return { kind: end, record: name, what, hint: HINTS[end], steps };
    }
    const what = `${title} never finishes${run.stuck ? ": its handler waits forever" : ""}`;
    return { kind: "unfinished", record: name, what, hint: HINTS.unfinished, steps };
  }
  if (run.effects === baseline.effects) return null; // V1
  const record = records[0]?.name ?? "";
  const what = `the effects differ from a run without faults: ${difference(run, baseline)}`;
  return { kind: "effects", record, what, hint: HINTS.effects, steps: run.steps };
}

/** V2 */
function repeatedCall(
  run: RunResult,
  baseline: RunResult,
  record: ProofRecord,
): ProofProblem | null {
  const allowed = unkeyedRequests(baseline.calls, record);
  const requests = unkeyedRequests(run.calls, record);
  const repeated = firstBeyond(requests, allowed);
  if (repeated === null) return null;
  const { name, title } = record;
  const { target, times } = repeated;
  const often =
    times === 1 ? `for ${title}, but not in a run without faults` : `${times} times for ${title}`;
  const what = `${target} was sent ${often}, and the receiver cannot recognise the duplicate`;
  const steps = stepsUpTo(run.steps, `sends ${target}`, name, times);
  return { kind: "outside-call", record: name, what, hint: HINTS["outside-call"], steps };
}

/**
 * The first request that a run without faults does not send: one more to a URL which that run uses,
 * or one more in total to a URL which it does not use. URLs may contain parts that differ per run.
 */
function firstBeyond(requests: readonly UnkeyedRequest[], allowed: readonly UnkeyedRequest[]) {
  const remaining = new Map<string, number>();
  for (const { target } of allowed) remaining.set(target, (remaining.get(target) ?? 0) + 1);
  for (const request of requests) {
    const more = remaining.get(request.target);
    if (more === 0) return request;
    if (more !== undefined) remaining.set(request.target, more - 1);
  }
  if (requests.length <= allowed.length) return null;
  return requests.find(({ target }) => !remaining.has(target)) ?? null;
}

/** A request that the receiver cannot recognise as a duplicate. */
interface UnkeyedRequest {
  /** Method and URL. */
  readonly target: string;
  /** Number of requests to that target so far, this one included. */
  readonly times: number;
}

const IDEMPOTENCY_HEADERS = ["idempotency-key", "x-idempotency-key"];

/**
 * Requests that the receiver cannot recognise as duplicates: each that changes something and does
 * not contain the record's key. Requests that share an Idempotency-Key count once.
 */
function unkeyedRequests(calls: readonly OutsideCall[], record: ProofRecord): UnkeyedRequest[] {
  const requests: UnkeyedRequest[] = [];
  const tokens = new Set<string>();
  const sent = new Map<string, number>();
  for (const call of calls) {
    const { method, url, headers } = call;
    if (call.record !== record.name || method === "GET" || method === "HEAD") continue;
    const target = `${method} ${url}`;
    const times = (sent.get(target) ?? 0) + 1;
    sent.set(target, times);
    if (containsKey(call, record)) continue;
    const token = IDEMPOTENCY_HEADERS.map((name) => headers[name]).find((value) => value);
    if (token !== undefined && tokens.has(token)) continue;
    if (token !== undefined) tokens.add(token);
    requests.push({ target, times });
  }
  return requests;
}

function containsKey(
  { url, headers, body }: OutsideCall,
  { identity, otherKeys }: ProofRecord,
): boolean {
  const texts = [url, decoded(url), body, ...Object.values(headers)];
  return [identity, ...otherKeys].some((key) => texts.some((text) => text.includes(key)));
}

function decoded(url: string): string {
  try {
    return decodeURIComponent(url);
  } catch {
    return url;
  }
}

/** The steps up to the `times`-th occurrence of `what` for the record. */
function stepsUpTo(
  steps: readonly ProofStep[],
  what: string,
  record: string,
  times: number,
): ProofStep[] {
  let count = 0;
  for (const [at, step] of steps.entries()) {
    if (step.what === what && step.record === record && !step.fault) count += 1;
    if (count >= times) return steps.slice(0, at + 1);
  }
  return [...steps];
}

const SHOWN_CHARS = 120;

/** The first difference between the effects of two runs. */
function difference(run: RunResult, baseline: RunResult): string {
  const [one, two] = [baseline.effects, run.effects];
  let at = 0;
  while (at < one.length && one[at] === two[at]) at += 1;
  const from = Math.max(0, at - SHOWN_CHARS / 3);
  const show = (text: string) => `…${text.slice(from, from + SHOWN_CHARS)}…`;
  return `${show(two)} instead of ${show(one)}`;
}

// Proof verdict: whether a disturbed run came to what the undisturbed one did.
//   V1. Rows and emitted effects are the same as if nothing had happened.
//   V2. A request that changes something is made no more often than undisturbed, unless it carries
//       the record's key, by which the other end can tell a repetition: in a header, the address or
//       the body; or an Idempotency-Key that is the same every time.
//   V3. A record may be given up on only if it was disturbed as often as it may be tried.

import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import type { OutsideCall, ProofEvent } from "./proof-run.ts";
import type { ProofRecord } from "./proof-samples.ts";
import type { RunResult } from "./proof-world.ts";

export interface ProofProblem {
  readonly kind: "effects" | "outside-call" | "given-up" | "unfinished";
  readonly record: string;
  /** One sentence. */
  readonly what: string;
  readonly hint: string;
  /** What was told up to the harm. */
  readonly told: readonly ProofEvent[];
}

const HINTS = {
  effects:
    "Make what the handler asks for follow from the record alone: not from the time, chance, or " +
    "what it remembers of former calls.",
  "outside-call":
    "Send the record's key along, such as headers: { 'Idempotency-Key': context.key }, or let a " +
    "sink do it.",
  "given-up": "A second attempt at the same record has to succeed, whatever the first has done.",
  unfinished: "See to it that the handler comes to an end when its signal aborts.",
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
    if (end === "given up on") {
      if (run.struck.length >= pipeline.retry.attempts) return null; // V3
      const why = run.failures.get(name) ?? "it failed";
      const what = `${title} was given up on, though it is done when nothing happens: ${why}`;
      return { kind: "given-up", record: name, what, hint: HINTS["given-up"], told: run.told };
    }
    const what = `${title} is not done, ${run.stuck ? "as its handler waits for ever" : "ever"}`;
    return { kind: "unfinished", record: name, what, hint: HINTS.unfinished, told: run.told };
  }
  if (run.effects === baseline.effects) return null; // V1
  const record = records[0]?.name ?? "";
  const what = `the effects are not those of a run without faults: ${difference(run, baseline)}`;
  return { kind: "effects", record, what, hint: HINTS.effects, told: run.told };
}

/** V2 */
function repeatedCall(
  run: RunResult,
  baseline: RunResult,
  record: ProofRecord,
): ProofProblem | null {
  const allowed = worksOf(baseline.calls, record);
  const works = worksOf(run.calls, record);
  const repeated = firstBeyond(works, allowed);
  if (repeated === null) return null;
  const { name, title } = record;
  const { place, times } = repeated;
  const often =
    times === 1 ? `for ${title}, though not when nothing happens` : `${times} times for ${title}`;
  const what = `${place} was sent ${often}, and nothing in it tells the repetition from new work`;
  const told = toldUpTo(run.told, `sends ${place}`, name, times);
  return { kind: "outside-call", record: name, what, hint: HINTS["outside-call"], told };
}

/**
 * The first work that an undisturbed run does not do: one more at an address that it knows, or, at
 * one that it does not know, one more in all. Addresses may hold what differs from run to run.
 */
function firstBeyond(works: readonly OutsideWork[], allowed: readonly OutsideWork[]) {
  const left = new Map<string, number>();
  for (const { place } of allowed) left.set(place, (left.get(place) ?? 0) + 1);
  for (const work of works) {
    const more = left.get(work.place);
    if (more === 0) return work;
    if (more !== undefined) left.set(work.place, more - 1);
  }
  if (works.length <= allowed.length) return null;
  return works.find(({ place }) => !left.has(place)) ?? null;
}

/** A request that the other end would take for work of its own. */
interface OutsideWork {
  /** Method and address. */
  readonly place: string;
  /** How many requests there had been to that place, this one included. */
  readonly times: number;
}

const IDEMPOTENCY_HEADERS = ["idempotency-key", "x-idempotency-key"];

/**
 * What the other end would take for work of its own: each request that changes something and does
 * not carry the record's key, but for those that share an Idempotency-Key.
 */
function worksOf(calls: readonly OutsideCall[], record: ProofRecord): OutsideWork[] {
  const works: OutsideWork[] = [];
  const tokens = new Set<string>();
  const sent = new Map<string, number>();
  for (const call of calls) {
    const { method, url, headers } = call;
    if (call.record !== record.name || method === "GET" || method === "HEAD") continue;
    const place = `${method} ${url}`;
    const times = (sent.get(place) ?? 0) + 1;
    sent.set(place, times);
    if (carriesKey(call, record)) continue;
    const token = IDEMPOTENCY_HEADERS.map((name) => headers[name]).find((value) => value);
    if (token !== undefined && tokens.has(token)) continue;
    if (token !== undefined) tokens.add(token);
    works.push({ place, times });
  }
  return works;
}

function carriesKey(
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

/** What was told until `what` was told of the record for the `times`-th time. */
function toldUpTo(
  told: readonly ProofEvent[],
  what: string,
  record: string,
  times: number,
): ProofEvent[] {
  let seen = 0;
  for (const [at, each] of told.entries()) {
    if (each.what === what && each.record === record && !each.disturbance) seen += 1;
    if (seen >= times) return told.slice(0, at + 1);
  }
  return [...told];
}

const SHOWN_CHARS = 120;

/** Where two texts of effects part. */
function difference(run: RunResult, baseline: RunResult): string {
  const [one, two] = [baseline.effects, run.effects];
  let at = 0;
  while (at < one.length && one[at] === two[at]) at += 1;
  const from = Math.max(0, at - SHOWN_CHARS / 3);
  const show = (text: string) => `…${text.slice(from, from + SHOWN_CHARS)}…`;
  return `${show(two)} instead of ${show(one)}`;
}

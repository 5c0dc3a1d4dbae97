// Proof verdict: whether a disturbed run came to what the undisturbed one did.
//   V1. Rows and emitted effects are the same as if nothing had happened.
//   V2. A request that changes something is made no more often than undisturbed, unless it carries
//       the record's key, by which the other end can tell a repetition: in a header, the address or
//       the body; or an Idempotency-Key that is the same every time.
//   V3. A record may be given up on only if it was disturbed as often as it may be tried.

import type { Pipeline } from "../ingest/define-pipeline.ts";
import type { OutsideCall, Told } from "./proof-run.ts";
import type { ProofRecord } from "./proof-samples.ts";
import type { RunResult } from "./proof-world.ts";

export interface Problem {
  readonly kind: "effects" | "outside-call" | "given-up" | "unfinished";
  readonly record: string;
  /** One sentence. */
  readonly what: string;
  readonly hint: string;
  /** What was told up to the harm. */
  readonly told: readonly Told[];
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

export function judge(
  run: RunResult,
  baseline: RunResult,
  about: { readonly pipeline: Pipeline; readonly records: readonly ProofRecord[] },
): Problem | null {
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
function repeatedCall(run: RunResult, baseline: RunResult, record: ProofRecord): Problem | null {
  const before = baseline.calls.filter((call) => call.record === record.name);
  const isBare = (call: OutsideCall) => isChange(call) && !carriesKey(call, record, before);
  const allowed = before.filter(isBare).length;
  let seen = 0;
  for (const call of run.calls) {
    if (call.record !== record.name || !isBare(call)) continue;
    seen += 1;
    if (seen <= allowed) continue;
    const times = allowed === 0 ? "" : ` ${seen} times`;
    const what =
      `${call.method} ${call.url} was sent${times} for ${record.title}, ` +
      "and nothing in it tells the repetition from new work";
    const told = toldUpTo(run.told, `sends ${call.method} ${call.url}`, record.name, seen);
    return { kind: "outside-call", record: record.name, what, hint: HINTS["outside-call"], told };
  }
  return null;
}

function isChange({ method }: OutsideCall): boolean {
  return method !== "GET" && method !== "HEAD";
}

const IDEMPOTENCY_HEADERS = ["idempotency-key", "x-idempotency-key"];

function carriesKey(
  { url, headers, body }: OutsideCall,
  { identity, otherKeys }: ProofRecord,
  before: readonly OutsideCall[],
): boolean {
  const texts = [url, decoded(url), body, ...Object.values(headers)];
  if ([identity, ...otherKeys].some((key) => texts.some((text) => text.includes(key)))) return true;
  return IDEMPOTENCY_HEADERS.some((name) => {
    const value = headers[name];
    return value !== undefined && before.some((call) => call.headers[name] === value);
  });
}

function decoded(url: string): string {
  try {
    return decodeURIComponent(url);
  } catch {
    return url;
  }
}

/** What was told until `what` was told of the record for the `times`-th time. */
function toldUpTo(told: readonly Told[], what: string, record: string, times: number): Told[] {
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

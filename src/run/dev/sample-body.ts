// Sample body: a body that a pipeline of own messages accepts, for `tidegate dev` to suggest.
//   S1. Nothing is suggested that the pipeline would reject: its own key function and schema judge
//       the sample. If none is accepted, the result is null, and the user writes one.
//   S2. The key function is run on a recorder that notes which members it reads. The schema's
//       issues then name the members that are missing.

import type { JsonValue } from "../../core/encoding/canonical-json.ts";
import type { OwnDecoding } from "../../ingest/spec/own-source.ts";
import { decodeOwn } from "../../ingest/stages/decode-own.ts";
import type { Delivery } from "../../ports/queue-receiver.ts";

export interface SampleBody {
  readonly text: string;
  /** Its business key; null if it is an id of the queue. */
  readonly key: string | null;
}

type Members = { [name: string]: JsonValue };
type Path = readonly string[];

const KEY_VALUE = "try-1";
const ROUNDS_MAX = 20;
const PATHS_MAX = 50;
/** Values that a schema may want, in the order in which they are tried. */
const VALUES: readonly JsonValue[] = ["try", 1, true, "2026-01-01T00:00:00Z", [], {}, null];

/** A body that the pipeline accepts, as far as its key and its schema decide (S1). */
export function sampleBody(pipeline: string, own: OwnDecoding): SampleBody | null {
  if (own.decode !== "json") return null;
  const members: Members = {};
  for (const path of pathsReadBy(own)) assign(members, path, KEY_VALUE);
  const body = completed(own, members);
  if (body === null) return null;
  const text = JSON.stringify(body);
  const decoded = decodeOwn(pipeline, own, deliveryOf(text));
  if (decoded.kind === "unusable" || text.includes("'")) return null; // S1
  return { text, key: decoded.transportKey === null ? decoded.key : null };
}

/** Whether the pipeline dead-letters a body for want of a key or a readable form. */
export function isUnusable(pipeline: string, own: OwnDecoding, text: string): boolean {
  return decodeOwn(pipeline, own, deliveryOf(text)).kind === "unusable";
}

/** The members that the key function reads, deepest ones only (S2). */
function pathsReadBy({ key, eventTime }: OwnDecoding): Path[] {
  const paths: Path[] = [];
  if (typeof key === "function") record(key, paths);
  if (eventTime !== null) record(eventTime, paths);
  const isPrefix = (one: Path, two: Path) =>
    one.length < two.length && one.every((name, at) => name === two[at]);
  return paths.filter((path) => !paths.some((other) => isPrefix(path, other)));
}

function record(read: (body: never) => unknown, paths: Path[]): void {
  try {
    read(recorder([], paths) as never);
  } catch {
    // The sample is then judged without what it would have read.
  }
}

/** Stands for any value: each member is a recorder, and as text it is a valid key. */
function recorder(path: Path, paths: Path[]): object {
  return new Proxy(Object, {
    get(_target, name) {
      if (name === Symbol.toPrimitive) return () => KEY_VALUE;
      if (typeof name === "symbol") return undefined;
      const method = (String.prototype as unknown as Record<string, unknown>)[name];
      if (typeof method === "function") return method.bind(KEY_VALUE);
      const member = [...path, name];
      if (paths.length < PATHS_MAX) paths.push(member);
      return recorder(member, paths);
    },
  });
}

/** The members with what the schema wants in addition; null if no value satisfies it. */
function completed({ schema }: OwnDecoding, members: Members): Members | null {
  if (schema === null) return members;
  const tried = new Map<string, number>();
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const issues = issuesOf(schema, members);
    if (issues === null) return null;
    const [path] = issues;
    if (path === undefined) return members;
    const name = JSON.stringify(path);
    const attempt = tried.get(name) ?? 0;
    const value = VALUES[attempt];
    if (value === undefined || path.length === 0) return null;
    tried.set(name, attempt + 1);
    assign(members, path, structuredClone(value));
  }
  return null;
}

/** The paths of the issues; null if the schema throws or is asynchronous. */
function issuesOf(schema: NonNullable<OwnDecoding["schema"]>, value: Members): Path[] | null {
  try {
    const result = schema["~standard"].validate(value);
    if (!("issues" in result) && !("value" in result)) return null;
    return (result.issues ?? []).map(({ path = [] }) =>
      path.map((part) => String(typeof part === "object" ? part.key : part)),
    );
  } catch {
    return null;
  }
}

function assign(members: Members, path: Path, value: JsonValue): void {
  const [name, ...rest] = path;
  if (name === undefined || name === "__proto__") return;
  if (rest.length === 0) {
    members[name] = value;
    return;
  }
  const inner = members[name];
  const isOpen = typeof inner === "object" && inner !== null && !Array.isArray(inner);
  const next = isOpen ? (inner as Members) : {};
  members[name] = next;
  assign(next, rest, value);
}

function deliveryOf(body: string): Delivery {
  return {
    messageId: KEY_VALUE,
    receipt: "",
    body,
    attributes: {},
    traceHeader: null,
    groupId: null,
    dedupId: KEY_VALUE,
    sentAt: 0 as Delivery["sentAt"],
    receiveCount: 1,
    movedFrom: null,
  };
}

// Run manifest: one JSON document that says what a run read, with which code and settings, and what
// it wrote. `tidegate reproduce` runs it again and compares.
//   R1. The text is written in one pass and in bounded memory, one input per line: head, inputs,
//       then what is known only at the end (outputs, counts, digest).
//   R2. Inputs are sorted by event time, then by record key, so the manifest does not depend on the
//       order of arrival.
//   R3. `digest` covers everything else. A manifest that was edited is recognised.
//   R4. The content hash of an output covers, in the order of R2, the key and result of every
//       record that wrote to it. Two runs with the same hash wrote the same.

import { assert } from "../core/assert.ts";
import { canonicalJson, type JsonObject } from "../core/encoding/canonical-json.ts";
import { createDigest } from "../core/encoding/hash.ts";
import { formatInstant } from "../core/encoding/rfc3339.ts";
import type { NoHashReason } from "../core/input-hash.ts";
import type { EpochMs } from "../core/units.ts";
import type { LineageOutput } from "./lineage-facts.ts";

export const RUN_MANIFEST_SCHEMA = "https://tidegate.dev/schemas/run-manifest-1.json";

/** One record of the run. */
export interface ManifestInput {
  readonly key: string;
  readonly kind: string;
  /** `s3://bucket/key` of the object or the archived message; else the source of a message. */
  readonly uri: string | null;
  readonly versionId: string | null;
  readonly etag: string | null;
  readonly size: number | null;
  /** Of its bytes, `algorithm:hexadecimal`; null without one. */
  readonly hash: string | null;
  /** Why `hash` is null. */
  readonly noHash: NoHashReason | null;
  readonly sequencer: string | null;
  readonly eventId: string | null;
  readonly messageId: string | null;
  readonly eventTime: string;
  readonly lane: string;
  readonly outcome: string;
  /** Content hash of the record's effects; null if it was not committed. */
  readonly result: string | null;
  /** Rows or objects written, by output. */
  readonly wrote: Readonly<Record<string, number>>;
}

/**
 * How it is known that the run adds nothing to the manifest: it wrote its end, it was alive after
 * the day, or it is only presumed to be over. "open": it still runs.
 */
export type ManifestSeal = "ended" | "day-over" | "presumed" | "open";

export interface ManifestHead {
  readonly run: {
    readonly id: string;
    readonly kind: "live" | "replay" | "backfill";
    readonly pipeline: string;
    readonly generation: number;
    /** Counts from 1 in each day: a large day is split. */
    readonly part: number;
    /** How many parts the day has. */
    readonly parts: number;
    /** The UTC day of the commits, `2026-03-01`; null for a whole run. */
    readonly day: string | null;
    readonly sealed: ManifestSeal;
    /** 2 if it replaces a manifest that presumed the end of a run which continued. */
    readonly revision: number;
    readonly startedAt: string;
    readonly endedAt: string | null;
    readonly window: { readonly from: string; readonly to: string; readonly cut: string } | null;
    readonly revisionOf: string | null;
    /** The pipeline file, by its path; null if there was none. */
    readonly file: string | null;
  };
  readonly code: { readonly digest: string };
  /** Of all settings, and of those of the pipeline alone, which `reproduce` compares. */
  readonly config: { readonly digest: string; readonly pipeline: string };
  readonly environment: Readonly<Record<string, string>>;
  /** What a replay was asked for; empty for a live run. */
  readonly request: JsonObject;
  /** The parameters of the pipeline, by value. */
  readonly parameters: JsonObject;
  readonly seeds: Readonly<Record<string, string>>;
  readonly models: Readonly<Record<string, string>>;
  /** SHA-256 of each lookup of the pipeline. */
  readonly lookups: Readonly<Record<string, string>>;
}

/** What is known only after the last input. */
export interface ManifestTail {
  readonly outputs: readonly LineageOutput[];
  readonly counts: Readonly<Record<string, number>>;
  readonly late: number;
  /** Inputs that should have been there: objects or versions that are gone. */
  readonly missing: readonly { readonly uri: string; readonly reason: string }[];
}

export interface RunManifest extends ManifestHead, ManifestTail {
  readonly schema: typeof RUN_MANIFEST_SCHEMA;
  readonly inputs: readonly ManifestInput[];
  readonly digest: string;
}

/** A sink's description of one output, before the run's rows are counted. */
export type OutputLocation = Pick<LineageOutput, "kind" | "accessUrl" | "columns">;

/** Sums up inputs as they pass (R4). */
export interface ManifestSums {
  add(input: ManifestInput): void;
  outputs(locationOf: (name: string) => OutputLocation): readonly LineageOutput[];
  counts(): Readonly<Record<string, number>>;
  late(): number;
}

export function createManifestSums(): ManifestSums {
  const outputs = new Map<string, { rows: number; digest: ReturnType<typeof createDigest> }>();
  const counts = new Map<string, number>();
  let late = 0;
  return {
    add({ key, outcome, result, wrote, lane }) {
      counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
      if (lane !== "live") late += 1;
      for (const [name, rows] of Object.entries(wrote)) {
        const output = outputs.get(name) ?? { rows: 0, digest: createDigest("sha256") };
        output.rows += rows;
        output.digest.update(bytesOf(`${canonicalJson([key, result])}\n`));
        outputs.set(name, output);
      }
    },
    outputs: (locationOf) =>
      sorted(outputs).map(([name, { rows, digest }]) => ({
        name,
        ...locationOf(name),
        rows,
        contentHash: hexOf(digest.digest()),
      })),
    counts: () => Object.fromEntries(sorted(counts)),
    late: () => late,
  };
}

/**
 * The text of a manifest, in pieces. `inputs` must be sorted (R2); `finish` is called after the
 * last of them.
 */
export async function* writeManifest(
  head: ManifestHead,
  inputs: AsyncIterable<ManifestInput> | Iterable<ManifestInput>,
  finish: () => ManifestTail,
): AsyncGenerator<string> {
  const digest = createDigest("sha256");
  const seal = (value: unknown) => digest.update(bytesOf(`${canonicalJson(value)}\n`));
  seal([RUN_MANIFEST_SCHEMA, head]);
  yield `{\n  "schema": ${JSON.stringify(RUN_MANIFEST_SCHEMA)},\n${fieldsOf(head)},\n  "inputs": [`;
  let previous: ManifestInput | null = null;
  for await (const input of inputs) {
    assert(previous === null || comesBefore(previous, input), "manifest inputs are sorted"); // R2
    seal(input);
    yield `${previous === null ? "" : ","}\n    ${JSON.stringify(input)}`;
    previous = input;
  }
  const tail = finish();
  seal(tail);
  yield `${previous === null ? "" : "\n  "}],\n${fieldsOf(tail)},\n`;
  yield `  "digest": "${hexOf(digest.digest())}"\n}\n`;
}

/** The digest that a manifest must have (R3). */
export function digestOfManifest(manifest: RunManifest): string {
  const { schema, inputs, outputs, counts, late, missing } = manifest;
  const { run, code, config, environment, request, parameters, seeds, models, lookups } = manifest;
  const digest = createDigest("sha256");
  const seal = (value: unknown) => digest.update(bytesOf(`${canonicalJson(value)}\n`));
  seal([schema, { run, code, config, environment, request, parameters, seeds, models, lookups }]);
  for (const input of inputs) seal(input);
  seal({ outputs, counts, late, missing });
  return hexOf(digest.digest());
}

/** The instant of a manifest's text. */
export function manifestInstant(at: EpochMs): string {
  return formatInstant(at);
}

/** R2 */
export function comesBefore(a: ManifestInput, b: ManifestInput): boolean {
  return a.eventTime === b.eventTime ? a.key < b.key : a.eventTime < b.eventTime;
}

function fieldsOf(value: object): string {
  return Object.entries(value)
    .map(([name, field]) => `  ${JSON.stringify(name)}: ${JSON.stringify(field)}`)
    .join(",\n");
}

function sorted<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1));
}

const encoder = new TextEncoder();

function bytesOf(text: string): Uint8Array {
  return encoder.encode(text);
}

function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Manifest target: the folder or the bucket that run manifests are written to.
//   T1. A manifest is written once. In a folder it appears whole, by a rename; in a bucket it is
//       put only if its key is absent.
//       An object says in its metadata how it is sealed, a file in its first lines. A manifest
//       that says nothing is never replaced.
//       What a writer may replace, it asks last: right before the rename, or between the look and
//       the put that depends on it. So a slow writer does not replace what another one completed.
//   T2. A bucket gets a manifest in one request, so its text is built in memory. Parts are small
//       enough for that (M3 of recorded-manifest.ts).

import { randomUUID } from "node:crypto";
import { createWriteStream } from "node:fs";
import { access, mkdir, open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline as pipeStreams } from "node:stream/promises";
import { TidegateError } from "../../core/errors.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import type { ManifestTarget, SealedText } from "../../lineage/recorded/live-manifests.ts";
import { storedJson } from "../../lineage/recorded/manifest-input.ts";
import type { ManifestSeal } from "../../lineage/run-manifest.ts";
import type { ObjectWriter, WriteCondition } from "../../ports/objects/object-writer.ts";
import { openAwsWriter } from "./aws-environment.ts";
import type { Server } from "./find-server.ts";

const SEAL_METADATA = "sealed";
const RUN_LINE = '  "run": ';
/** More than the head of a manifest up to the line of its run. */
const HEAD_BYTES = 65_536;
const BUCKET_URL = /^s3:\/\/([^/]+)\/?(.*)$/s;

/** A folder, or `s3://bucket/prefix`. */
export async function openManifestTarget(target: string, server: Server): Promise<ManifestTarget> {
  const [, bucket, prefix = ""] = BUCKET_URL.exec(target) ?? [];
  if (bucket === undefined) return folderTarget(target);
  const { writer, close } = await openAwsWriter(server);
  return bucketTarget(writer, { bucket, prefix }, close);
}

/** Throws TG_CONFIG_INVALID if the pipeline would ingest its own manifests. */
export function checkManifestTarget(target: string, { source }: Pipeline): void {
  const [, bucket, prefix = ""] = BUCKET_URL.exec(target) ?? [];
  if (bucket === undefined || bucket !== source.bucket) return;
  const [ours, theirs] = [folderOf(prefix), source.prefix];
  if (!ours.startsWith(theirs) && !theirs.startsWith(ours)) return;
  const message =
    `--manifests ${target} is below the pipeline's source s3://${bucket}/${theirs}, so manifests ` +
    "would be ingested; choose another prefix or bucket";
  throw new TidegateError("TG_CONFIG_INVALID", message);
}

function folderTarget(folder: string): ManifestTarget {
  const exists = (path: string) =>
    access(join(folder, path)).then(
      () => true,
      () => false,
    );
  return {
    async sealOf(path) {
      if (!(await exists(path))) return null;
      return sealIn(await headOf(join(folder, path)));
    },
    put: (path, text, signal) => write(path, text, signal, async () => !(await exists(path))),
    replace: (path, text, signal, mayReplace = always) => write(path, text, signal, mayReplace),
    close: () => undefined,
  };
  async function write(
    path: string,
    { pieces }: SealedText,
    signal: AbortSignal,
    mayRename: () => Promise<boolean>,
  ): Promise<void> {
    const to = join(folder, path);
    await mkdir(dirname(to), { recursive: true });
    const from = `${to}.${randomUUID().slice(0, 8)}.part`;
    try {
      const file = createWriteStream(from, { flags: "wx", flush: true });
      await pipeStreams(Readable.from(pieces), file, { signal });
      if (await mayRename()) await rename(from, to); // T1
    } finally {
      await rm(from, { force: true });
    }
  }
}

/** Exported for tests with a writer of their own. */
export function bucketTarget(
  writer: ObjectWriter,
  { bucket, prefix }: { readonly bucket: string; readonly prefix: string },
  close: () => void,
): ManifestTarget {
  const keyOf = (path: string) => `${folderOf(prefix)}${path}`;
  return {
    async sealOf(path, signal) {
      const object = await writer.look(bucket, keyOf(path), signal);
      return object === undefined ? null : knownSeal(object.metadata[SEAL_METADATA]);
    },
    async put(path, text, signal) {
      await write(path, { sealed: text.sealed, bytes: await bytesOf(text) }, ABSENT, signal);
    },
    async replace(path, text, signal, mayReplace = always) {
      const existing = await writer.look(bucket, keyOf(path), signal);
      const condition = existing === undefined ? ABSENT : { etag: existing.etag };
      const whole = { sealed: text.sealed, bytes: await bytesOf(text) };
      if (!(await mayReplace())) return; // T1
      if ((await write(path, whole, condition, signal)) === "exists") throw busy(keyOf(path));
    },
    close,
  };
  async function write(
    path: string,
    { sealed, bytes }: { readonly sealed: ManifestSeal; readonly bytes: Uint8Array },
    condition: WriteCondition,
    signal: AbortSignal,
  ) {
    const metadata = { [SEAL_METADATA]: sealed };
    const kind = { contentType: "application/json", metadata, condition };
    const answer = await writer.write({ bucket, key: keyOf(path), bytes, ...kind }, signal);
    if (answer === "conflict") throw busy(keyOf(path));
    return answer;
  }
}

const ABSENT: WriteCondition = { absent: true };
const always = async () => true;

/** T2 */
async function bytesOf({ pieces }: SealedText): Promise<Uint8Array> {
  let text = "";
  for await (const piece of pieces) text += piece;
  return new TextEncoder().encode(text);
}

function busy(key: string): TidegateError {
  return new TidegateError("TG_SINK_UNAVAILABLE", `${key} is being written by another`);
}

/** The beginning of a file, with everything before the inputs of a manifest. */
async function headOf(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await file.close();
  }
}

/** The seal that the line of the run has (R1 of run-manifest.ts). */
function sealIn(head: string): ManifestSeal {
  const line = head.split("\n").find((each) => each.startsWith(RUN_LINE)) ?? "";
  const { sealed } = storedJson(line.slice(RUN_LINE.length, -1));
  return knownSeal(sealed);
}

/** T1 */
function knownSeal(sealed: unknown): ManifestSeal {
  return sealed === "presumed" ? "presumed" : "ended";
}

/** A prefix that ends with a slash, or is empty. */
function folderOf(prefix: string): string {
  return prefix === "" || prefix.endsWith("/") ? prefix : `${prefix}/`;
}

// Manifest target: the folder or the bucket that run manifests are written to.
//   T1. A manifest is written once. In a folder it appears whole, by a rename; in a bucket it is
//       put only if its key is absent.
//   T2. A bucket gets a manifest in one request, so its text is built in memory. Parts are small
//       enough for that (M3 of recorded-manifest.ts).

import { randomUUID } from "node:crypto";
import { createWriteStream } from "node:fs";
import { access, mkdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline as pipeStreams } from "node:stream/promises";
import { TidegateError } from "../../core/errors.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import type { ObjectWriter } from "../../ports/object-writer.ts";
import { openAwsWriter } from "../open/aws-environment.ts";

const BUCKET_URL = /^s3:\/\/([^/]+)\/?(.*)$/s;

export interface ManifestTarget {
  has(path: string, signal: AbortSignal): Promise<boolean>;
  /** Writes a manifest, unless it exists (T1). */
  put(path: string, pieces: AsyncIterable<string>, signal: AbortSignal): Promise<void>;
  close(): void;
}

/** A folder, or `s3://bucket/prefix`. */
export async function openManifestTarget(
  target: string,
  server: { readonly endpoint?: string | undefined; readonly region?: string | undefined },
): Promise<ManifestTarget> {
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
    has: exists,
    async put(path, pieces, signal) {
      const to = join(folder, path);
      await mkdir(dirname(to), { recursive: true });
      const from = `${to}.${randomUUID().slice(0, 8)}.part`;
      try {
        const file = createWriteStream(from, { flags: "wx", flush: true });
        await pipeStreams(Readable.from(pieces), file, { signal });
        if (!(await exists(path))) await rename(from, to); // T1
      } finally {
        await rm(from, { force: true });
      }
    },
    close: () => undefined,
  };
}

/** Exported for tests with a writer of their own. */
export function bucketTarget(
  writer: ObjectWriter,
  { bucket, prefix }: { readonly bucket: string; readonly prefix: string },
  close: () => void,
): ManifestTarget {
  const keyOf = (path: string) => `${folderOf(prefix)}${path}`;
  return {
    has: async (path, signal) => (await writer.look(bucket, keyOf(path), signal)) !== undefined,
    async put(path, pieces, signal) {
      let text = "";
      for await (const piece of pieces) text += piece; // T2
      const object = {
        bucket,
        key: keyOf(path),
        bytes: new TextEncoder().encode(text),
        contentType: "application/json",
        metadata: {},
        condition: { absent: true },
      } as const;
      const answer = await writer.write(object, signal);
      if (answer !== "conflict") return;
      throw new TidegateError("TG_SINK_UNAVAILABLE", `${object.key} is being written by another`);
    },
    close,
  };
}

/** A prefix that ends with a slash, or is empty. */
function folderOf(prefix: string): string {
  return prefix === "" || prefix.endsWith("/") ? prefix : `${prefix}/`;
}

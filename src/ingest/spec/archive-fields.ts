// Archive fields: where a pipeline of messages keeps their bodies, so that they can be replayed.

import { utf8ByteLength } from "../../core/encoding/text.ts";
import { isOwnSource } from "./own-source.ts";

/** A bucket for the bodies of processed messages. */
export interface ArchiveSpec {
  readonly bucket: string;
  /** What the names of its objects start with. Default: "messages/", and the pipeline's name. */
  readonly prefix?: string;
}

export interface ArchiveSettings {
  readonly bucket: string;
  readonly prefix: string;
}

const FIELDS = { bucket: true, prefix: true } as const;
/** S3 allows 1,024 bytes for the whole key. */
const PREFIX_BYTES_MAX = 512;

export function archiveOf(name: string, archive: ArchiveSpec | undefined): ArchiveSettings | null {
  if (archive === undefined) return null;
  const { bucket, prefix = `messages/${name}/` } = archive;
  return { bucket, prefix };
}

/** The problems of `archive`, which may have been written without types. */
export function archiveProblems(spec: {
  readonly archive?: unknown;
  readonly source?: unknown;
}): string[] {
  const { archive, source } = spec;
  if (archive === undefined) return [];
  if (typeof archive !== "object" || archive === null)
    return ["archive must be { bucket, prefix }"];
  const strays = Object.keys(archive).filter((name) => !Object.hasOwn(FIELDS, name));
  const problems = strays.map((name) => `unknown field "${name}" in archive; use bucket, prefix`);
  const { bucket, prefix = "" } = archive as { bucket?: unknown; prefix?: unknown };
  if (typeof bucket !== "string" || bucket === "")
    problems.push("archive.bucket must name a bucket");
  if (typeof prefix !== "string" || utf8ByteLength(prefix) > PREFIX_BYTES_MAX) {
    problems.push(`archive.prefix must be text of up to ${PREFIX_BYTES_MAX} bytes`);
  }
  if (!readsMessages(source)) {
    problems.push(
      "archive is for messages; remove it, since objects are replayed from their bucket",
    );
  }
  return problems;
}

function readsMessages(source: unknown): boolean {
  if (typeof source !== "object" || source === null) return true; // Reported elsewhere.
  if ("bucket" in source) return false;
  return isOwnSource(source) || (source as { contents?: unknown }).contents !== "objects";
}

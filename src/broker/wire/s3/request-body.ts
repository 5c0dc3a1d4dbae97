// Request body: the bytes of a request, and the client's claims about them.
//   B1. Every claim is verified: length, MD5, SHA-256 and checksum, in a header or in a trailer. A
//       false claim refuses the request, and nothing is stored.
//   B2. A body is read once, as a stream. Only documents are buffered in memory, up to a limit.

import {
  CHECKSUM_ALGORITHMS,
  type ChecksumAlgorithm,
  checksumBytes,
  createChecksum,
  isChecksumAlgorithm,
} from "../../../core/encoding/checksum.ts";
import { createDigest, type Digest } from "../../../core/encoding/hash.ts";
import { type Result, refuseWith, succeed } from "../../../core/result.ts";
import type { StagedBlob } from "../../../ports/broker/blob-store.ts";
import type { S3Fault, S3Refusal } from "../../model/s3/s3-fault.ts";
import {
  ChunkSignatures,
  SIGNED_CHUNKS,
  SIGNED_TRAILER,
  UNSIGNED_TRAILER,
} from "../auth/chunk-signatures.ts";
import { decodeUtf8 } from "../protocol/utf8.ts";
import { decodeAwsChunked, malformedTrailer } from "./aws-chunked.ts";
import { BodyFault } from "./body-fault.ts";
import { DOCUMENT_BYTES_MAX, LIST_DOCUMENT_BYTES_MAX } from "./document-limits.ts";
import type { S3Call } from "./s3-call.ts";
import { invalidArgument, refusal } from "./s3-errors.ts";

const OBJECT_BYTES_MAX = 5 * 1_024 ** 3;

/** A client's claims about its body. */
interface Claims {
  readonly chunked: boolean;
  readonly sizeBytes: number | null;
  readonly md5: string | null;
  readonly sha256: string | null;
  readonly algorithm: ChecksumAlgorithm | null;
  /** Null if it follows in a trailer. */
  readonly checksum: string | null;
  /** The checksum header that follows in a trailer, if any. */
  readonly trailer: string | null;
}

export interface ReceivedBody {
  readonly blob: StagedBlob;
  readonly md5: string;
  /** The algorithm that the client chose, if any. */
  readonly chosen: ChecksumAlgorithm | null;
  /** In base64, for the chosen algorithm and for the required one. */
  readonly checksums: Readonly<Partial<Record<ChecksumAlgorithm, string>>>;
}

/** Stages the body. `required` returns the checksum to compute in addition to the chosen one. */
export async function receiveBody(
  call: S3Call,
  required: (chosen: ChecksumAlgorithm | null) => ChecksumAlgorithm,
): Promise<Result<ReceivedBody, S3Fault>> {
  const claimed = readClaims(call);
  if (!claimed.ok) return claimed;
  const claims = claimed.value;
  if (claims.sizeBytes === null) {
    return refusal("MissingContentLength", "You must provide the Content-Length HTTP header.");
  }
  const algorithms = new Set([required(claims.algorithm)]);
  if (claims.algorithm !== null) algorithms.add(claims.algorithm);
  const checked = new CheckedBody(call, claims, [...algorithms], OBJECT_BYTES_MAX);
  try {
    const blob = await call.s3.blobs.stage(checked.bytes());
    const { algorithm: chosen } = claims;
    return succeed({ blob, md5: checked.md5, chosen, checksums: checked.checksums });
  } catch (error) {
    if (error instanceof BodyFault) return refuseWith(error.fault);
    throw error;
  }
}

/** Returns the text of a document after verifying every claim about it (B2). */
export async function readDocument(call: S3Call): Promise<Result<string, S3Fault>> {
  const { method } = call.request;
  const bytesMax = method === "POST" ? LIST_DOCUMENT_BYTES_MAX : DOCUMENT_BYTES_MAX;
  const claimed = readClaims(call);
  if (!claimed.ok) return claimed;
  const claims = claimed.value;
  const algorithms = claims.algorithm === null ? [] : [claims.algorithm];
  const checked = new CheckedBody(call, claims, algorithms, bytesMax);
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of checked.bytes()) chunks.push(chunk);
  } catch (error) {
    if (error instanceof BodyFault) return refuseWith(error.fault);
    throw error;
  }
  const text = decodeUtf8(Buffer.concat(chunks));
  return text === null ? malformedXml() : succeed(text);
}

export function malformedXml(): S3Refusal {
  return refusal(
    "MalformedXML",
    "The XML you provided was not well-formed or did not validate against our published schema",
  );
}

function readClaims(call: S3Call): Result<Claims, S3Fault> {
  const { headers } = call.request;
  const sha256 = headers["x-amz-content-sha256"] ?? null;
  const chunked =
    sha256?.startsWith("STREAMING-") === true ||
    headers["content-encoding"]?.includes("aws-chunked") === true;
  const length = headers[chunked ? "x-amz-decoded-content-length" : "content-length"];
  const md5 = headers["content-md5"] ?? null;
  if (md5 !== null && Buffer.from(md5, "base64").length !== 16) {
    return refusal("InvalidDigest", "The Content-MD5 you specified was invalid.", {
      "Content-MD5": md5,
    });
  }
  const checksum = claimedChecksum(call);
  if (!checksum.ok) return checksum;
  const sizeBytes = length === undefined ? null : Number(length);
  if (sizeBytes !== null && !(Number.isSafeInteger(sizeBytes) && sizeBytes >= 0)) {
    return invalidArgument("Content-Length", length ?? "", "The length you specified is invalid.");
  }
  if (sha256 !== null && !/^([0-9a-fA-F]{64}|UNSIGNED-PAYLOAD|STREAMING-.+)$/.test(sha256)) {
    return invalidContentHash(sha256);
  }
  const hex = sha256?.length === 64 ? sha256.toLowerCase() : null;
  return succeed({ chunked, sizeBytes, md5, sha256: hex, ...checksum.value });
}

function invalidContentHash(value: string): S3Refusal {
  const message = "x-amz-content-sha256 must be UNSIGNED-PAYLOAD, one of the STREAMING- values";
  return invalidArgument("x-amz-content-sha256", value, `${message}, or a valid sha256 value.`);
}

type ClaimedChecksum = Pick<Claims, "algorithm" | "checksum" | "trailer">;

function claimedChecksum(call: S3Call): Result<ClaimedChecksum, S3Fault> {
  const { headers } = call.request;
  const sent = CHECKSUM_ALGORITHMS.filter((name) => headers[headerOf(name)] !== undefined);
  const trailed = (headers["x-amz-trailer"] ?? "")
    .split(",")
    .map(
      (name) => /^x-amz-checksum-(.+)$/.exec(name.trim().toLowerCase())?.[1]?.toUpperCase() ?? "",
    )
    .filter((name) => name !== "");
  if (sent.length + trailed.length > 1) return severalChecksums();
  const named = (sent[0] ?? trailed[0] ?? headers["x-amz-sdk-checksum-algorithm"])?.toUpperCase();
  if (named === undefined) return succeed({ algorithm: null, checksum: null, trailer: null });
  if (!isChecksumAlgorithm(named)) {
    return refusal(
      "InvalidRequest",
      "The algorithm type you specified in x-amz-checksum- header is invalid.",
    );
  }
  const checksum = headers[headerOf(named)] ?? null;
  if (checksum !== null && !isWellFormed(named, checksum)) {
    return refusal(
      "InvalidRequest",
      `Value for x-amz-checksum-${named.toLowerCase()} header is invalid.`,
    );
  }
  const trailer = trailed.length > 0 ? headerOf(named) : null;
  return succeed({ algorithm: named, checksum, trailer });
}

export function severalChecksums(): S3Refusal {
  return refusal(
    "InvalidRequest",
    "Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed.",
  );
}

export function headerOf(algorithm: ChecksumAlgorithm): string {
  return `x-amz-checksum-${algorithm.toLowerCase()}`;
}

function isWellFormed(algorithm: ChecksumAlgorithm, value: string): boolean {
  const bytes = Buffer.from(value, "base64");
  return bytes.length === checksumBytes(algorithm) && bytes.toString("base64") === value;
}

/** What verifies the chunks; null where no signatures are checked, or chunks have none. */
function chunkSignaturesOf({ server, request, signed }: S3Call): ChunkSignatures | null {
  const content = request.headers["x-amz-content-sha256"] ?? "";
  if (server.authority === null || content === UNSIGNED_TRAILER) return null;
  if (!content.startsWith("STREAMING-")) return null;
  const isSigned = content === SIGNED_CHUNKS || content === SIGNED_TRAILER;
  if (signed !== null && isSigned) return new ChunkSignatures(signed, content === SIGNED_TRAILER);
  throw new BodyFault(invalidContentHash(content).fault);
}

/** Passes the bytes on and verifies the claims at the end (B1). */
class CheckedBody {
  readonly #call: S3Call;
  readonly #claims: Claims;
  readonly #bytesMax: number;
  readonly #md5 = createDigest("md5");
  readonly #sha256: Digest | null;
  readonly #sums: ReadonlyMap<ChecksumAlgorithm, Digest>;
  readonly checksums: Partial<Record<ChecksumAlgorithm, string>> = {};
  md5 = "";

  constructor(
    call: S3Call,
    claims: Claims,
    algorithms: readonly ChecksumAlgorithm[],
    bytesMax: number,
  ) {
    this.#call = call;
    this.#claims = claims;
    this.#bytesMax = bytesMax;
    this.#sha256 = claims.sha256 === null ? null : createDigest("sha256");
    this.#sums = new Map(algorithms.map((name) => [name, createChecksum(name)]));
  }

  async *bytes(): AsyncGenerator<Uint8Array> {
    const { sizeBytes, chunked } = this.#claims;
    if (sizeBytes !== null && sizeBytes > this.#bytesMax) throw this.#tooLarge(sizeBytes);
    const trailers = new Map<string, string>();
    const raw = this.#call.request.bodyStream ?? once(this.#call.request.body);
    let receivedBytes = 0;
    const signatures = chunked ? chunkSignaturesOf(this.#call) : null;
    for await (const chunk of chunked ? decodeAwsChunked(raw, trailers, signatures) : raw) {
      receivedBytes += chunk.length;
      if (receivedBytes > this.#bytesMax) throw this.#tooLarge(receivedBytes);
      this.#md5.update(chunk);
      this.#sha256?.update(chunk);
      for (const sum of this.#sums.values()) sum.update(chunk);
      yield chunk;
    }
    if (sizeBytes !== null && receivedBytes !== sizeBytes) {
      throw fault("IncompleteBody", "The request body terminated unexpectedly");
    }
    this.#verify(trailers);
  }

  #verify(trailers: ReadonlyMap<string, string>): void {
    const { md5, sha256, algorithm, checksum, trailer } = this.#claims;
    const digest = Buffer.from(this.#md5.digest());
    this.md5 = digest.toString("hex");
    if (md5 !== null && digest.toString("base64") !== md5) {
      throw fault("BadDigest", "The Content-MD5 you specified did not match what we received.", {
        ExpectedDigest: md5,
        CalculatedDigest: digest.toString("base64"),
      });
    }
    if (this.#sha256 !== null && Buffer.from(this.#sha256.digest()).toString("hex") !== sha256) {
      throw fault(
        "XAmzContentSHA256Mismatch",
        "The provided 'x-amz-content-sha256' header does not match what was computed.",
      );
    }
    for (const [name, sum] of this.#sums) {
      this.checksums[name] = Buffer.from(sum.digest()).toString("base64");
    }
    const sent = [...trailers.keys()].find((name) => name.startsWith("x-amz-checksum-")) ?? null;
    if (sent !== trailer) throw malformedTrailer();
    if (algorithm === null) return;
    const claimed = checksum ?? trailers.get(headerOf(algorithm)) ?? null;
    if (claimed === null || claimed === this.checksums[algorithm]) return;
    if (!isWellFormed(algorithm, claimed)) {
      throw fault("InvalidRequest", `Value for ${headerOf(algorithm)} trailing header is invalid.`);
    }
    throw fault(
      "BadDigest",
      `The ${algorithm} you specified did not match the calculated checksum.`,
    );
  }

  #tooLarge(sizeBytes: number): BodyFault {
    return fault("EntityTooLarge", "Your proposed upload exceeds the maximum allowed size", {
      ProposedSize: String(sizeBytes),
      MaxSizeAllowed: String(this.#bytesMax),
    });
  }
}

function fault(...from: Parameters<typeof refusal>): BodyFault {
  return new BodyFault(refusal(...from).fault);
}

async function* once(body: Uint8Array): AsyncGenerator<Uint8Array> {
  if (body.length > 0) yield Uint8Array.from(body); // Blob stores keep the chunks they receive.
}

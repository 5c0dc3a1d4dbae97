// Chunk signatures: verifies the signatures of the chunks of an aws-chunked body, and of its
// trailers. Each continues from the one before, and the first from that of the request.
//   S1. The bytes of a chunk are passed on before its signature was compared. Nothing is stored of
//       a body that does not end well.
//   S2. The empty chunk at the end is signed too, so a body cannot be cut short.

import {
  createDigest,
  hmacSha256Hex,
  isSameSecret,
  sha256Hex,
} from "../../../core/encoding/hash.ts";
import { BodyFault } from "../s3/body-fault.ts";
import { refusal } from "../s3/s3-errors.ts";
import { s3FaultOf } from "./s3-faults.ts";
import type { VerifiedSignature } from "./signature-v4.ts";

export const SIGNED_CHUNKS = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD";
export const SIGNED_TRAILER = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER";
export const UNSIGNED_TRAILER = "STREAMING-UNSIGNED-PAYLOAD-TRAILER";

/** All chunks but the last have at least this many bytes. */
const CHUNK_BYTES_MIN = 8_192;
const TRAILER_SIGNATURE = "x-amz-trailer-signature";
const NOTHING = sha256Hex("");

export class ChunkSignatures {
  readonly #signed: VerifiedSignature;
  readonly #hasTrailer: boolean;
  #previous: string;
  #claimed = "";
  #digest = createDigest("sha256");
  #lastBytes: number | null = null;
  #count = 0;

  constructor(signed: VerifiedSignature, hasTrailer: boolean) {
    this.#signed = signed;
    this.#hasTrailer = hasTrailer;
    this.#previous = signed.signature;
  }

  /** Starts a chunk; `extension` is the rest of its line after the size. */
  begin(sizeBytes: number, extension: string): void {
    if (sizeBytes > 0 && this.#lastBytes !== null && this.#lastBytes < CHUNK_BYTES_MIN) {
      throw new BodyFault(
        refusal(
          "InvalidChunkSizeError",
          "Only the last chunk is allowed to have a size less than 8192 bytes",
          { Chunk: String(this.#count), BadChunkSize: String(this.#lastBytes) },
        ).fault,
      );
    }
    this.#claimed = /^;chunk-signature=([0-9a-f]{64})$/.exec(extension)?.[1] ?? "";
    this.#digest = createDigest("sha256");
    this.#lastBytes = sizeBytes;
    this.#count += 1;
  }

  update(bytes: Uint8Array): void {
    this.#digest.update(bytes);
  }

  /** Ends a chunk, the empty one included (S2). */
  end(): void {
    const digest = Buffer.from(this.#digest.digest()).toString("hex");
    this.#compare(`${this.#head("PAYLOAD")}\n${NOTHING}\n${digest}`, this.#claimed);
  }

  /** Ends the body; the signature of the trailers is removed from them. */
  finish(trailers: Map<string, string>): void {
    if (!this.#hasTrailer) {
      if (trailers.size > 0) this.#refuse("", "");
      return;
    }
    const claimed = trailers.get(TRAILER_SIGNATURE) ?? "";
    trailers.delete(TRAILER_SIGNATURE);
    const text = [...trailers].map(([name, value]) => `${name}:${value}\n`).join("");
    const digest = sha256Hex(Buffer.from(text, "latin1"));
    this.#compare(`${this.#head("TRAILER")}\n${digest}`, claimed);
  }

  #head(kind: "PAYLOAD" | "TRAILER"): string {
    const { date, scope } = this.#signed;
    return `AWS4-HMAC-SHA256-${kind}\n${date}\n${scope}\n${this.#previous}`;
  }

  #compare(stringToSign: string, claimed: string): void {
    const expected = hmacSha256Hex(this.#signed.signingKey, stringToSign);
    if (!isSameSecret(claimed, expected)) this.#refuse(stringToSign, claimed);
    this.#previous = expected;
  }

  #refuse(stringToSign: string, signature: string): never {
    const { accessKeyId } = this.#signed.key;
    throw new BodyFault(
      s3FaultOf({ kind: "mismatch", accessKeyId, stringToSign, signature }).fault,
    );
  }
}

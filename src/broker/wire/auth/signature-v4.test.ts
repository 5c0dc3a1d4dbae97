import { createHash, createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { epochMs } from "../../../core/units.ts";
import type { HttpRequest } from "../../../ports/http/http.ts";
import { decodeAwsChunked } from "../s3/aws-chunked.ts";
import { BodyFault } from "../s3/body-fault.ts";
import { type Authority, onlyCaller } from "./access-key.ts";
import { ChunkSignatures } from "./chunk-signatures.ts";
import { type VerifiedSignature, verifyHeader } from "./signature-v4.ts";

// The example of AWS's documentation of chunked uploads: key, secret, time and signatures.
const AUTHORITY: Authority = {
  now: () => epochMs(0),
  systemNow: () => epochMs(1_369_353_600_000),
  keys: new Map([
    [
      "AKIAIOSFODNN7EXAMPLE",
      {
        accessKeyId: "AKIAIOSFODNN7EXAMPLE",
        secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        sessionToken: null,
        caller: onlyCaller("000000000000"),
      },
    ],
  ]),
};
const SEED = "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9";
const CHUNKS = [
  "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648",
  "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497",
  "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9",
] as const;

function example(signature = SEED): HttpRequest {
  return {
    method: "PUT",
    path: "/examplebucket/chunkObject.txt",
    query: "",
    headers: {
      host: "s3.amazonaws.com",
      "x-amz-date": "20130524T000000Z",
      "x-amz-storage-class": "REDUCED_REDUNDANCY",
      "x-amz-content-sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
      "content-encoding": "aws-chunked",
      "x-amz-decoded-content-length": "66560",
      "content-length": "66824",
      authorization:
        "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request," +
        "SignedHeaders=content-encoding;content-length;host;x-amz-content-sha256;x-amz-date;" +
        `x-amz-decoded-content-length;x-amz-storage-class,Signature=${signature}`,
    },
    body: new Uint8Array(),
    bodyTooLarge: false,
    signal: new AbortController().signal,
    requestId: "id",
  };
}

function verified(): VerifiedSignature {
  const result = verifyHeader(AUTHORITY, example(), { region: "us-east-1", service: "s3" });
  if (!result.ok) throw new Error(JSON.stringify(result.fault));
  return result.value;
}

async function* inPieces(text: string): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text, "latin1");
  for (let at = 0; at < bytes.length; at += 10_000) yield bytes.subarray(at, at + 10_000);
}

async function decode(text: string, signatures: ChunkSignatures): Promise<number> {
  let count = 0;
  for await (const piece of decodeAwsChunked(inPieces(text), new Map(), signatures)) {
    count += piece.length;
  }
  return count;
}

async function codeOf(text: string, signatures = new ChunkSignatures(verified(), false)) {
  const error = await decode(text, signatures).catch((reason: unknown) => reason);
  return error instanceof BodyFault ? error.fault.code : error;
}

const [one, two, last] = CHUNKS;
const chunk = (data: string, signature: string) =>
  `${data.length.toString(16)};chunk-signature=${signature}\r\n${data}\r\n`;
const END = `0;chunk-signature=${last}\r\n\r\n`;
const BODY = chunk("a".repeat(65_536), one) + chunk("a".repeat(1_024), two) + END;

test("the signature of AWS's example is accepted, and no other", () => {
  expect(verified()).toMatchObject({ signature: SEED, date: "20130524T000000Z" });
  const other = verifyHeader(AUTHORITY, example(SEED.replace("4f", "4e")), {
    region: "us-east-1",
    service: "s3",
  });
  expect(other).toMatchObject({ ok: false, fault: { kind: "mismatch" } });
});

test("the chunks of AWS's example are accepted", async () => {
  expect(await decode(BODY, new ChunkSignatures(verified(), false))).toBe(66_560);
});

test.each([
  ["a changed byte", BODY.replace("aaaa", "aaba")],
  ["a changed signature of a chunk", BODY.replace(two, one)],
  ["a chunk without signature", BODY.replace(`;chunk-signature=${one}`, "")],
  ["a removed chunk", chunk("a".repeat(65_536), one) + END],
  ["swapped chunks", chunk("a".repeat(1_024), two) + chunk("a".repeat(65_536), one) + END],
  ["an unsigned end", BODY.replace(`0;chunk-signature=${last}`, "0")],
])("%s is refused", async (_, body) => {
  expect(["SignatureDoesNotMatch", "InvalidChunkSizeError"]).toContain(await codeOf(body));
});

test("a small chunk may only be the last", async () => {
  const body = chunk("a", hmacOf("a", SEED)) + chunk("a", one) + END;
  expect(await codeOf(body)).toBe("InvalidChunkSizeError");
});

/** The signature of a chunk, computed here. */
function hmacOf(data: string, previous: string): string {
  const digest = (text: string) => createHash("sha256").update(text).digest("hex");
  const head = `AWS4-HMAC-SHA256-PAYLOAD\n20130524T000000Z\n${SCOPE}\n${previous}`;
  return signed(`${head}\n${digest("")}\n${digest(data)}`);
}

const SCOPE = "20130524/us-east-1/s3/aws4_request";

function signed(text: string): string {
  let key: Buffer | string = "AWS4wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
  for (const part of SCOPE.split("/")) key = createHmac("sha256", key).update(part).digest();
  return createHmac("sha256", key).update(text).digest("hex");
}

function trailed(trailer: string, changed = trailer): string {
  const first = hmacOf("bytes", SEED);
  const end = hmacOf("", first);
  const digest = createHash("sha256").update(`${trailer}\n`).digest("hex");
  const signature = signed(
    `AWS4-HMAC-SHA256-TRAILER\n20130524T000000Z\n${SCOPE}\n${end}\n${digest}`,
  );
  return (
    `${chunk("bytes", first)}0;chunk-signature=${end}\r\n${changed}\r\n` +
    `x-amz-trailer-signature:${signature}\r\n\r\n`
  );
}

test("a signed trailer is accepted, and refused once it is changed or not signed", async () => {
  const body = trailed("x-amz-checksum-crc32:LkQOkw==");
  const fresh = () => new ChunkSignatures(verified(), true);
  expect(await decode(body, fresh())).toBe(5);
  const changed = trailed("x-amz-checksum-crc32:LkQOkw==", "x-amz-checksum-crc32:LkQOkx==");
  expect(await codeOf(changed, fresh())).toBe("SignatureDoesNotMatch");
  const unsigned = body.replace(/x-amz-trailer-signature:.*\r\n/, "");
  expect(await codeOf(unsigned, fresh())).toBe("SignatureDoesNotMatch");
  expect(await codeOf(body)).toBe("SignatureDoesNotMatch"); // Trailers that were not announced.
});

// aws-chunked: decodes the chunked encoding in which SDKs send a body with a trailing checksum.
//   C1. Sizes are hex, optionally followed by a signature, which is verified if there are keys.
//   C2. Memory is bounded: data is passed on as it arrives, and lines have a limit.
//   C3. The body must end with the empty chunk and its trailers. Anything else is an incomplete
//       body, or a malformed trailer if the data is complete.

import type { ChunkSignatures } from "../auth/chunk-signatures.ts";
import { BodyFault } from "./body-fault.ts";
import { refusal } from "./s3-errors.ts";

const LINE_BYTES_MAX = 8 * 1_024;
const TRAILERS_MAX = 16;
const LINE_END = Buffer.from("\r\n");

/** Yields the data of the chunks, and adds the trailers to `trailers` by lower-case name. */
export async function* decodeAwsChunked(
  source: AsyncIterable<Uint8Array>,
  trailers: Map<string, string>,
  signatures: ChunkSignatures | null = null,
): AsyncGenerator<Uint8Array> {
  const input = new ChunkInput(source);
  for (;;) {
    const { size, extension } = chunkHead(await input.line());
    signatures?.begin(size, extension); // C1
    if (size === 0) break;
    for await (const piece of input.bytes(size)) {
      signatures?.update(piece);
      yield piece;
    }
    if ((await input.line()) !== "") throw incomplete();
    signatures?.end();
  }
  signatures?.end();
  await readTrailers(input, trailers);
  signatures?.finish(trailers);
}

async function readTrailers(input: ChunkInput, trailers: Map<string, string>): Promise<void> {
  for (let count = 0; ; count += 1) {
    const line = await input.lastLine();
    if (line === "") return;
    const colon = line.indexOf(":");
    if (colon < 1 || count >= TRAILERS_MAX) throw malformedTrailer();
    trailers.set(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim());
  }
}

function chunkHead(line: string): { readonly size: number; readonly extension: string } {
  const match = /^([0-9a-fA-F]{1,12})(;.*)?$/.exec(line);
  if (match === null) throw incomplete();
  return { size: Number.parseInt(match[1] as string, 16), extension: match[2] ?? "" };
}

class ChunkInput {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #buffered: Buffer = Buffer.alloc(0);
  #ended = false;

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#chunks = source[Symbol.asyncIterator]();
  }

  async line(): Promise<string> {
    const line = await this.#tryLine();
    if (line === null) throw incomplete(); // C3
    return line;
  }

  /** Returns a line, or the rest at the end of the body: some clients omit the last line end. */
  async lastLine(): Promise<string> {
    const line = await this.#tryLine();
    if (line !== null) return line;
    const rest = this.#buffered.toString("latin1");
    this.#buffered = Buffer.alloc(0);
    return rest;
  }

  async *bytes(count: number): AsyncGenerator<Uint8Array> {
    let remaining = count;
    while (remaining > 0) {
      if (this.#buffered.length === 0 && !(await this.#more())) throw incomplete(); // C3
      const piece = this.#buffered.subarray(0, remaining);
      this.#buffered = this.#buffered.subarray(piece.length);
      remaining -= piece.length;
      if (piece.length > 0) yield piece;
    }
  }

  async #tryLine(): Promise<string | null> {
    for (;;) {
      const end = this.#buffered.indexOf(LINE_END);
      if (end !== -1) {
        const line = this.#buffered.toString("latin1", 0, end);
        this.#buffered = this.#buffered.subarray(end + LINE_END.length);
        return line;
      }
      if (this.#buffered.length > LINE_BYTES_MAX) throw incomplete(); // C2
      if (!(await this.#more())) return null;
    }
  }

  async #more(): Promise<boolean> {
    if (this.#ended) return false;
    const next = await this.#chunks.next();
    if (next.done === true) {
      this.#ended = true;
      return false;
    }
    const chunk = Buffer.from(next.value.buffer, next.value.byteOffset, next.value.byteLength);
    this.#buffered = this.#buffered.length === 0 ? chunk : Buffer.concat([this.#buffered, chunk]);
    return true;
  }
}

export function malformedTrailer(): BodyFault {
  const message =
    "The request contained trailing data that was not well-formed or did not conform to our " +
    "published schema.";
  return new BodyFault(refusal("MalformedTrailerError", message).fault);
}

function incomplete(): BodyFault {
  return new BodyFault(refusal("IncompleteBody", "The request body terminated unexpectedly").fault);
}

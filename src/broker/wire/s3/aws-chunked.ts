// aws-chunked: the body inside the body, as SDKs send it to add a checksum at the end.
//   C1. Sizes are hex, with a signature behind them perhaps; signatures are not verified, as no
//       credentials are.
//   C2. Memory is bounded: data goes through as it comes, lines have a limit.
//   C3. It must end with the empty chunk and its trailers; anything else is an incomplete body, or
//       a malformed trailer if the data were whole.

import { BodyFault } from "./body-fault.ts";
import { refusal } from "./s3-errors.ts";

const LINE_BYTES_MAX = 8 * 1_024;
const TRAILERS_MAX = 16;
const LINE_END = Buffer.from("\r\n");

/** Gives the data of the chunks, and puts the trailers into `trailers` by lower-case name. */
export async function* decodeAwsChunked(
  source: AsyncIterable<Uint8Array>,
  trailers: Map<string, string>,
): AsyncGenerator<Uint8Array> {
  const input = new ChunkInput(source);
  for (;;) {
    const size = chunkSize(await input.line());
    if (size === 0) break;
    yield* input.bytes(size);
    if ((await input.line()) !== "") throw incomplete();
  }
  for (let count = 0; ; count += 1) {
    const line = await input.lastLine();
    if (line === "") return;
    const colon = line.indexOf(":");
    if (colon < 1 || count >= TRAILERS_MAX) throw malformedTrailer();
    trailers.set(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim());
  }
}

function chunkSize(line: string): number {
  const match = /^([0-9a-fA-F]{1,12})(;.*)?$/.exec(line);
  if (match === null) throw incomplete();
  return Number.parseInt(match[1] as string, 16);
}

class ChunkInput {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #held: Buffer = Buffer.alloc(0);
  #ended = false;

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#chunks = source[Symbol.asyncIterator]();
  }

  async line(): Promise<string> {
    const line = await this.#tryLine();
    if (line === null) throw incomplete(); // C3
    return line;
  }

  /** A line, or an empty one at the end of the body: not all clients send the last line end. */
  async lastLine(): Promise<string> {
    const line = await this.#tryLine();
    if (line !== null) return line;
    const rest = this.#held.toString("latin1");
    this.#held = Buffer.alloc(0);
    return rest;
  }

  async *bytes(count: number): AsyncGenerator<Uint8Array> {
    let left = count;
    while (left > 0) {
      if (this.#held.length === 0 && !(await this.#more())) throw incomplete(); // C3
      const piece = this.#held.subarray(0, left);
      this.#held = this.#held.subarray(piece.length);
      left -= piece.length;
      if (piece.length > 0) yield piece;
    }
  }

  async #tryLine(): Promise<string | null> {
    for (;;) {
      const end = this.#held.indexOf(LINE_END);
      if (end !== -1) {
        const line = this.#held.toString("latin1", 0, end);
        this.#held = this.#held.subarray(end + LINE_END.length);
        return line;
      }
      if (this.#held.length > LINE_BYTES_MAX) throw incomplete(); // C2
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
    this.#held = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
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

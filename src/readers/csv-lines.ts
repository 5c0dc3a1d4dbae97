// CSV lines: finds the physical line on which each record starts. csv-parse counts a CRLF inside
// quotes as two lines, and does not report where a record began.
//   CL1. CRLF, LF and CR each end one line, also inside quotes.
//   CL2. Empty lines before a record are not part of it.
//   CL3. Only the bytes that csv-parse may still be undecided about are buffered.

import { Buffer } from "node:buffer";

const LF = 0x0a;
const CR = 0x0d;

/** csv-parse looks a few bytes ahead before it emits a record; it never looks this far. */
const LOOKAHEAD_BYTES = 16;

export interface RecordExtent {
  /** The line on which the record starts. */
  readonly line: number;
  readonly bytes: number;
}

export class CsvLines {
  #held: Buffer = Buffer.alloc(0);
  #heldStart = 0;
  #position = 0;
  #line = 1;
  #inRecord = false;
  #startLine = 1;
  #startOffset = 0;

  /** `firstLine` is the line at which the bytes start. */
  constructor(firstLine = 1) {
    this.#line = firstLine;
    this.#startLine = firstLine;
  }

  /** Adds the bytes that csv-parse gets now. */
  feed(chunk: Buffer): void {
    const rest = this.#held.subarray(this.#position - this.#heldStart);
    this.#held = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk;
    this.#heldStart = this.#position;
  }

  /** The record that ends before `offset`. */
  endRecord(offset: number): RecordExtent {
    this.#scanTo(offset);
    const record = { line: this.#startLine, bytes: offset - this.#startOffset };
    this.#inRecord = false;
    this.#startLine = this.#line;
    this.#startOffset = offset;
    return record;
  }

  /** The record that has not ended yet; all ended records must have been reported. */
  openRecord(): RecordExtent {
    this.#scanTo(this.#heldStart + this.#held.length - LOOKAHEAD_BYTES); // CL3
    return { line: this.#startLine, bytes: Math.max(0, this.#position - this.#startOffset) };
  }

  /** The same at the last byte, for a record that is never ended. */
  openRecordLine(): number {
    this.#scanTo(this.#heldStart + this.#held.length);
    return this.#startLine;
  }

  #scanTo(offset: number): void {
    while (this.#position < offset) {
      const at = this.#position - this.#heldStart;
      const byte = this.#held[at];
      // CL1: a CR before an LF is half of one line end; the LF counts.
      const ends = byte === LF || (byte === CR && this.#held[at + 1] !== LF);
      if (!this.#inRecord && byte !== LF && byte !== CR) this.#beginRecord();
      if (ends) this.#line++;
      this.#position++;
    }
  }

  #beginRecord(): void {
    this.#inRecord = true; // CL2
    this.#startLine = this.#line;
    this.#startOffset = this.#position;
  }
}

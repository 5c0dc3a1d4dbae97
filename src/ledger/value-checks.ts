// Value checks: rejects single values that not every store can save.

import { refuseValue } from "../core/errors.ts";
import type { ObjectRef } from "../ports/record.ts";

const OBJECT_KEY_BYTES_MAX = 1_024;
/** A version id or an ETag of S3, a size and their separators. */
const STATE_CHARS_MAX = 1_100;
const SEQUENCER = /^[0-9A-Fa-f]{1,128}$/;

const MAY_BE_EMPTY: ReadonlySet<string> = new Set(["effects", "body of a note"]);

export function checkStoredText(what: string, text: string | undefined, charsMax: number): void {
  if (text === undefined) return;
  if (text.length === 0 && !MAY_BE_EMPTY.has(what)) refuseValue(`the ${what} is empty`);
  if (text.length > charsMax)
    refuseValue(`the ${what} has ${text.length} characters, over ${charsMax}`);
  checkCharacters(what, text);
}

/** Rejects what not every store can save: NUL characters and unpaired surrogates. */
function checkCharacters(what: string, text: string): void {
  if (text.includes("\0")) refuseValue(`the ${what} contains a NUL character`);
  if (!text.isWellFormed()) refuseValue(`the ${what} is not well-formed Unicode`);
}

export function checkInstant(what: string, value: number | null | undefined): void {
  if (value === undefined || value === null) return;
  if (!Number.isSafeInteger(value) || value < 0)
    refuseValue(`the ${what} ${value} is out of range`);
}

export function checkObject(object: ObjectRef): void {
  const { bucket, key, sequencer, state } = object;
  if (bucket === "" || key === "") refuseValue("an object needs a bucket and a key");
  checkCharacters("bucket", bucket);
  checkCharacters("object key", key);
  if (Buffer.byteLength(key) > OBJECT_KEY_BYTES_MAX) {
    refuseValue(`the object key is over ${OBJECT_KEY_BYTES_MAX} bytes`);
  }
  if (sequencer !== null && !SEQUENCER.test(sequencer)) {
    refuseValue(`the sequencer ${JSON.stringify(sequencer)} is not hexadecimal`);
  }
  checkStoredText("state of an object", state, STATE_CHARS_MAX);
}

// The files of the example's server, and how they are encrypted: AES-256-GCM, with the
// initialisation vector and the authentication tag before the ciphertext.

import { createCipheriv, createDecipheriv, createHash } from "node:crypto";

export interface RemoteFile {
  readonly FileID: string;
  readonly Entity: string;
}

const IV_BYTES = 12;
const TAG_BYTES = 16;
const ENTITIES = ["accounts", "contracts", "customers", "payments", "rates"];

/** The key of the demonstration. A real one comes from a secret store. */
export const DEMO_KEY = createHash("sha256").update("tidegate downloads example").digest();

/** What the server offers for a batch: one file per entity and day. */
export function filesOf(batch: string): RemoteFile[] {
  return ENTITIES.map((Entity) => ({ FileID: `${Entity}-${batch}`, Entity }));
}

/** The content of a file before it is encrypted. */
export function plainText(fileId: string): string {
  const rows = Array.from({ length: 20 }, (_, row) => `${row},${fileId},${(row * 37) % 101}`);
  return `row,file,value\n${rows.join("\n")}\n`;
}

export function encrypt(text: string, fileId: string, key: Buffer = DEMO_KEY): Buffer {
  const iv = createHash("sha256").update(fileId).digest().subarray(0, IV_BYTES);
  const cipher = createCipheriv("aes-256-gcm", key, iv);
  const body = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), body]);
}

/** Throws if the bytes were changed, or encrypted with another key. */
export function decrypt(bytes: Buffer, key: Buffer = DEMO_KEY): Buffer {
  const iv = bytes.subarray(0, IV_BYTES);
  const decipher = createDecipheriv("aes-256-gcm", key, iv);
  decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
}

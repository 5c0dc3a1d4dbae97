// Sender ids: the SenderId of messages.

import { md5Hex } from "../../../core/encoding/hash.ts";

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const LETTERS = 17;

/**
 * The user id, in AWS's format, of the only user: requests are not authenticated. It depends on the
 * account only, so it is the same after a restart.
 */
export function senderIdOf(account: string): string {
  const digest = Buffer.from(md5Hex(`${account}/sender`) + md5Hex(account), "hex");
  let letters = "";
  for (let i = 0; i < LETTERS; i++) letters += ALPHABET[digest[i]! % ALPHABET.length];
  return `AIDA${letters}`;
}

// Sender ids: whom a message is said to come from.

import { md5Hex } from "../../../core/encoding/hash.ts";

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const LETTERS = 17;

/**
 * A user id in AWS's form for the only user there is while no credentials are checked. It depends
 * on the account alone, so that it stays the same from start to start.
 */
export function senderIdOf(account: string): string {
  const digest = Buffer.from(md5Hex(`${account}/sender`) + md5Hex(account), "hex");
  let letters = "";
  for (let i = 0; i < LETTERS; i++) letters += ALPHABET[digest[i]! % ALPHABET.length];
  return `AIDA${letters}`;
}

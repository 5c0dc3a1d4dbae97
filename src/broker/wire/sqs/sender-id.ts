// Sender ids: the SenderId of messages.

import { md5Hex } from "../../../core/encoding/hash.ts";

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const LETTERS = 17;

/**
 * The user id, in AWS's format, of the only user where no signatures are checked. It depends on
 * the account only, so it is the same after a restart.
 */
export function senderIdOf(account: string): string {
  const digest = Buffer.from(md5Hex(`${account}/sender`) + md5Hex(account), "hex");
  return `AIDA${lettersOf(digest)}`;
}

/** The unique id of a user or role: its account for the root user, and the session for a role. */
export function userIdOf(arn: string): string {
  const [, , , , account = "", name = ""] = arn.split(":");
  const letters = lettersOf(Buffer.from(md5Hex(arn) + md5Hex(`${arn}/id`), "hex"));
  if (name === "root") return account;
  if (name.startsWith("user/")) return `AIDA${letters}`;
  const session = /^assumed-role\/[^/]+\/(.+)$/.exec(name)?.[1] ?? "tidegate";
  return `AROA${letters}:${session}`;
}

function lettersOf(digest: Uint8Array): string {
  let letters = "";
  for (let i = 0; i < LETTERS; i++) letters += ALPHABET[digest[i]! % ALPHABET.length];
  return letters;
}

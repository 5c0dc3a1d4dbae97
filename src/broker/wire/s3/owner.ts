// The owner of every bucket and object: the only account, with a canonical id derived from it.

import { sha256Hex } from "../../../core/encoding/hash.ts";
import type { S3Call } from "./s3-call.ts";
import { element, textElement } from "./xml-output.ts";

export function canonicalId(call: S3Call): string {
  return sha256Hex(`canonical/${call.server.broker.account}`);
}

export function ownerElement(call: S3Call, name = "Owner"): string {
  return element(name, textElement("ID", canonicalId(call)));
}

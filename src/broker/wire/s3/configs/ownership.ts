// Ownership controls: who owns new objects of a bucket.

import { element, textElement } from "../xml-output.ts";

export const OWNERSHIPS: ReadonlySet<string> = new Set([
  "BucketOwnerEnforced",
  "BucketOwnerPreferred",
  "ObjectWriter",
]);

/** The content of an `<OwnershipControls>`. */
export function writeOwnership(ownership: string): string {
  return element("Rule", textElement("ObjectOwnership", ownership));
}

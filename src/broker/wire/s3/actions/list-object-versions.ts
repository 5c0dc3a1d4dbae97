// ListObjectVersions: returns every version and delete marker, newest first within a key.

import type { ListedVersion } from "../../../model/s3/s3-operations.ts";
import { readListParameters, writeEntry, writeListHead, writePrefixes } from "../object-list.ts";
import { ownerElement } from "../owner.ts";
import { ask, type S3Action } from "../s3-call.ts";
import { denied, invalidArgument } from "../s3-errors.ts";
import { element, instant, optionalText, textElement, xmlReply } from "../xml-output.ts";

export const listObjectVersions: S3Action = {
  name: "ListObjectVersions",
  method: "GET",
  at: "bucket",
  query: ["versions"],
  async run(call) {
    const parameters = readListParameters(call);
    if (!parameters.ok) return denied(call, parameters.fault);
    const { input, encode } = parameters.value;
    const after = call.query.get("key-marker") ?? "";
    const afterVersion = call.query.get("version-id-marker");
    if (afterVersion !== null && after === "") {
      const message = "A version-id marker cannot be specified without a key marker.";
      return denied(call, invalidArgument("version-id-marker", afterVersion, message).fault);
    }
    const listing = await ask(call, "listObjectVersions", { ...input, after, afterVersion });
    if (!listing.ok) return denied(call, listing.fault);
    const { entries, prefixes, next, nextVersion } = listing.value;
    const owner = ownerElement(call);
    const truncated = next !== null && input.limit > 0;
    const content =
      writeListHead(call, parameters.value) +
      textElement("KeyMarker", encode(after)) +
      textElement("VersionIdMarker", afterVersion ?? "") +
      (truncated ? textElement("NextKeyMarker", encode(next)) : "") +
      optionalText("NextVersionIdMarker", truncated ? nextVersion : null) +
      textElement("MaxKeys", input.limit) +
      textElement("IsTruncated", truncated) +
      entries.map((entry) => writeVersion(entry, encode, owner)).join("") +
      writePrefixes(prefixes, encode);
    return xmlReply("ListVersionsResult", content);
  },
};

function writeVersion(
  entry: ListedVersion,
  encode: (name: string) => string,
  owner: string,
): string {
  const version = textElement("VersionId", entry.version) + textElement("IsLatest", entry.latest);
  if (!entry.marker) return element("Version", writeEntry(entry, encode), version, owner);
  return element(
    "DeleteMarker",
    textElement("Key", encode(entry.key)),
    instant("LastModified", entry.modifiedAt),
    version,
    owner,
  );
}

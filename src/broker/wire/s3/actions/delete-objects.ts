// DeleteObjects: deletes up to 1,000 objects; each succeeds or fails alone and has its own event.

import { S3_DELETE_KEYS_MAX } from "../../../../core/limits.ts";
import { type Result, succeed } from "../../../../core/result.ts";
import type { S3Fault } from "../../../model/s3/s3-fault.ts";
import type { DeletedObject, DeleteEntry } from "../../../model/s3/s3-operations.ts";
import { mayDelete } from "../../auth/s3-access.ts";
import { reportFailure } from "../../protocol/failure.ts";
import { bareEtag } from "../read-conditions.ts";
import { malformedXml, readDocument } from "../request-body.ts";
import { ask, type S3Action, type S3Call } from "../s3-call.ts";
import { denied, notImplemented } from "../s3-errors.ts";
import { childrenOf, childText, parseXml } from "../xml-input.ts";
import { element, optionalText, textElement, xmlReply } from "../xml-output.ts";

export const deleteObjects: S3Action = {
  name: "DeleteObjects",
  method: "POST",
  at: "bucket",
  query: ["delete"],
  async run(call) {
    const body = await readDocument(call);
    if (!body.ok) return denied(call, body.fault);
    const requested = parseDelete(body.value);
    if (!requested.ok) return denied(call, requested.fault);
    const { quiet } = requested.value;
    const { bucket, origin } = call;
    const { entries, refused } = allowedEntries(call, requested.value.entries);
    const gone = await ask(call, "deleteObjects", { bucket, entries, origin });
    if (!gone.ok) return denied(call, gone.fault);
    call.s3.blobs.remove(gone.value.dropped);
    for (const error of gone.value.damage) reportFailure(call.server, call.request, error);
    const reported = quiet
      ? gone.value.results.filter(({ fault }) => fault !== null)
      : gone.value.results;
    return xmlReply("DeleteResult", [...reported, ...refused].map(writeResult).join(""));
  },
};

/** What the caller may delete, and the results of the rest. */
function allowedEntries(call: S3Call, all: readonly DeleteEntry[]) {
  const entries: DeleteEntry[] = [];
  const refused: DeletedObject[] = [];
  for (const entry of all) {
    const { key, version } = entry;
    const fault = mayDelete(call, key, version)?.fault ?? null;
    if (fault === null) entries.push(entry);
    else refused.push({ key, version, marker: null, fault });
  }
  return { entries, refused };
}

/** Conditions of directory buckets. */
const UNSUPPORTED = ["LastModifiedTime", "Size"];

interface Deletions {
  readonly entries: readonly DeleteEntry[];
  readonly quiet: boolean;
}

function parseDelete(body: string): Result<Deletions, S3Fault> {
  const root = parseXml(body, "Delete");
  if (root === null) return malformedXml();
  const entries: DeleteEntry[] = [];
  for (const object of childrenOf(root, "Object")) {
    const key = childText(object, "Key");
    if (key === null || key === "") return malformedXml();
    const condition = UNSUPPORTED.find((name) => childText(object, name) !== null);
    if (condition !== undefined) return notImplemented(condition);
    const etag = childText(object, "ETag");
    const ifMatch = etag === null ? null : bareEtag(etag);
    entries.push({ key, version: childText(object, "VersionId"), ifMatch });
  }
  if (entries.length === 0 || entries.length > S3_DELETE_KEYS_MAX) return malformedXml();
  return succeed({ entries, quiet: childText(root, "Quiet")?.toLowerCase() === "true" });
}

function writeResult({ key, version, marker, fault }: DeletedObject): string {
  if (fault !== null) {
    return element(
      "Error",
      textElement("Key", key),
      optionalText("VersionId", version),
      textElement("Code", fault.code),
      textElement("Message", fault.message),
    );
  }
  return element(
    "Deleted",
    textElement("Key", key),
    optionalText("VersionId", version),
    marker === null ? "" : textElement("DeleteMarker", true),
    optionalText("DeleteMarkerVersionId", marker?.version),
  );
}

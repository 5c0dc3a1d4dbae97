// Check parameters: refuses a request whose parameters its action cannot honour, before it runs.
//   C1. A header of S3 (x-amz-) that the action does not accept is refused, never ignored.
//   C2. A condition on an action that has none is refused on a write. On a read it is ignored, as
//       HTTP demands for a resource without validators.
//   C3. A query parameter that names a version, an upload or a part is refused where it is not
//       accepted: the request would otherwise apply to another thing than the one it names.

import type { S3Refusal } from "../../../model/s3/s3-fault.ts";
import type { S3Action, S3Call } from "../s3-call.ts";
import { invalidArgument, notImplemented } from "../s3-errors.ts";
import { S3_ACTIONS } from "../s3-routes.ts";
import { checkChecksumHeader } from "./parameter-checks.ts";
import type { ParameterCheck, ParameterRow } from "./parameter-row.ts";
import { PARAMETERS } from "./parameter-table.ts";

/** What an action accepts: the check of each name, or null if there is nothing to check. */
type Accepted = ReadonlyMap<string, ParameterCheck | null>;

const METADATA_PREFIX = "x-amz-meta-";
const NAMING = ["versionId", "uploadId", "partNumber"];

const ACCEPTED: ReadonlyMap<S3Action, Accepted> = new Map(
  S3_ACTIONS.map((action) => {
    const rows = PARAMETERS.filter((row) => isAccepted(row, action));
    return [action, new Map(rows.flatMap(checksOf))];
  }),
);

function isAccepted({ actions }: ParameterRow, action: S3Action): boolean {
  return typeof actions === "function" ? actions(action) : actions.includes(action.name);
}

function checksOf({ names, check }: ParameterRow): [string, ParameterCheck | null][] {
  return names.map((name) => [name, check ?? null]);
}

/** Returns the refusal of the first parameter that the action cannot honour, or null. */
export function checkParameters(call: S3Call, action: S3Action): S3Refusal | null {
  const accepted = ACCEPTED.get(action) as Accepted;
  const { headers } = call.request;
  for (const name in headers) {
    const isAmazon = name.startsWith("x-amz-");
    if (!isAmazon && !name.startsWith("if-")) continue;
    const value = headers[name];
    if (value === undefined) continue;
    const refused = isAmazon
      ? checkHeader(call, accepted, name, value)
      : checkCondition(call, accepted, name);
    if (refused !== null) return refused;
  }
  return call.request.query === "" ? null : checkNaming(call, accepted);
}

function checkHeader(
  call: S3Call,
  accepted: Accepted,
  name: string,
  value: string,
): S3Refusal | null {
  const check = accepted.get(name);
  if (check !== undefined) return check === null ? null : check(value, call, name);
  if (name.startsWith(METADATA_PREFIX) && accepted.has(METADATA_PREFIX)) return null;
  return checkChecksumHeader(name) ?? notImplemented(name); // C1
}

function checkCondition(call: S3Call, accepted: Accepted, name: string): S3Refusal | null {
  const { method } = call.request;
  const isRead = method === "GET" || method === "HEAD";
  return isRead || accepted.has(name) ? null : notImplemented(name); // C2
}

function checkNaming(call: S3Call, accepted: Accepted): S3Refusal | null {
  for (const name of NAMING) {
    const value = call.query.get(name);
    if (value === null || accepted.has(`?${name}`)) continue;
    const what = name === "versionId" ? "version-id" : name;
    return invalidArgument(name, value, `This operation does not accept a ${what}.`); // C3
  }
  return null;
}

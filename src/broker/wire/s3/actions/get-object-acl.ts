// GetObjectAcl: returns the ACL of an object; only the owner has permissions.

import { writeAcl } from "../acl.ts";
import { ask, type S3Action, versionOf } from "../s3-call.ts";
import { denied } from "../s3-errors.ts";

export const getObjectAcl: S3Action = {
  name: "GetObjectAcl",
  method: "GET",
  at: "object",
  query: ["acl"],
  async run(call) {
    const { bucket, key } = call;
    const lookup = await ask(call, "findObject", { bucket, key, version: versionOf(call) });
    return lookup.ok ? writeAcl(call) : denied(call, lookup.fault);
  },
};

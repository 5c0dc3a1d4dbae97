// GetObjectAcl: the owner may do everything, and there is nobody else.

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
    const found = await ask(call, "findObject", { bucket, key, version: versionOf(call) });
    return found.ok ? writeAcl(call) : denied(call, found.fault);
  },
};

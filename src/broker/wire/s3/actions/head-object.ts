// HeadObject: returns the headers of GetObject without the body.

import type { HttpReply } from "../../../../ports/http/http.ts";
import { findRead, readHeaders } from "../object-read.ts";
import type { S3Action } from "../s3-call.ts";
import { denied } from "../s3-errors.ts";

export const headObject: S3Action = {
  name: "HeadObject",
  method: "HEAD",
  at: "object",
  async run(call): Promise<HttpReply> {
    const read = await findRead(call);
    if (!read.ok) return denied(call, read.fault);
    const { range, status } = read.value;
    const bodyBytes = range.through - range.from + 1;
    return { status, headers: readHeaders(call, read.value), body: "", bodyBytes };
  },
};

// GetObject: streams the bytes of an object, or a range of them.

import type { HttpReply } from "../../../../ports/http/http.ts";
import { findRead, readHeaders } from "../object-read.ts";
import type { S3Action } from "../s3-call.ts";
import { denied } from "../s3-errors.ts";

export const getObject: S3Action = {
  name: "GetObject",
  method: "GET",
  at: "object",
  async run(call): Promise<HttpReply> {
    const read = await findRead(call);
    if (!read.ok) return denied(call, read.fault);
    const { object, range, status } = read.value;
    const bodyBytes = range.through - range.from + 1;
    const body = bodyBytes === 0 ? "" : call.s3.blobs.read(object.pieces, range);
    return { status, headers: readHeaders(call, read.value), body, bodyBytes };
  },
};

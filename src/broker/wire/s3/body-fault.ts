// BodyFault: a fault of a request body, thrown through the stream that reads it. Only the code that
// receives the body catches it.

import type { S3Fault } from "../../model/s3/s3-fault.ts";

export class BodyFault extends Error {
  readonly fault: S3Fault;

  constructor(fault: S3Fault) {
    super(fault.message);
    this.name = "BodyFault";
    this.fault = fault;
  }
}

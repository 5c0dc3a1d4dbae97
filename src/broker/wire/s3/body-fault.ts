// BodyFault: what is wrong with a body, thrown through the stream that reads it. It is caught where
// the body is taken in, and nowhere else.

import type { S3Fault } from "../../model/s3/s3-fault.ts";

export class BodyFault extends Error {
  readonly fault: S3Fault;

  constructor(fault: S3Fault) {
    super(fault.message);
    this.name = "BodyFault";
    this.fault = fault;
  }
}

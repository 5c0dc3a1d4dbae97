// Parameter row: a header or query parameter that actions of S3 accept, and what becomes of it.

import type { S3Refusal } from "../../../model/s3/s3-fault.ts";
import type { S3Action, S3Call } from "../s3-call.ts";

/** Returns the refusal of a value, or null. */
export type ParameterCheck = (value: string, call: S3Call, name: string) => S3Refusal | null;

export interface ParameterRow {
  /** Headers in lower case; query parameters after a question mark. */
  readonly names: readonly string[];
  /** The actions that accept it. */
  readonly actions: readonly string[] | ((action: S3Action) => boolean);
  /** `honoured` by the action or by `check`; `refused` by `check`, whatever the value. */
  readonly use: "honoured" | "refused" | "harmless";
  readonly check?: ParameterCheck;
  /** Why nothing is lost by ignoring it, in rows that are harmless. */
  readonly reason?: string;
}

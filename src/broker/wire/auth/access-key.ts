// Access key: who may sign, and what a request's signature says about its caller.

import type { EpochMs } from "../../../core/units.ts";
import { senderIdOf } from "../sqs/sender-id.ts";

/** A key as the owner of the cloud declares it. */
export interface AccessKey {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Null for a key that needs none. */
  readonly sessionToken: string | null;
  readonly caller: RequestCaller;
}

/** Who calls. */
export interface RequestCaller {
  /** The SenderId of messages. */
  readonly userId: string;
  readonly account: string;
  readonly arn: string;
}

/** What signatures are checked against; absent if nothing is. */
export interface Authority {
  readonly keys: ReadonlyMap<string, AccessKey>;
  readonly now: () => EpochMs;
}

/** Everybody, where no signatures are checked. */
export function onlyCaller(account: string): RequestCaller {
  return { userId: senderIdOf(account), account, arn: `arn:aws:iam::${account}:user/tidegate` };
}

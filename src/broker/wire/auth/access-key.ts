// Access key: who may sign, and what a request's signature says about its caller.

import type { AccessPrincipal } from "../../../core/access/access-policy.ts";
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
  /** Empty for an anonymous caller. */
  readonly account: string;
  readonly arn: string;
  readonly principal: AccessPrincipal;
  /** The texts of the caller's policies; null for a root user, who needs none. */
  readonly policies: readonly string[] | null;
}

/** Who sent an unsigned request to a cloud that checks signatures. */
export const ANONYMOUS: RequestCaller = {
  userId: "anonymous",
  account: "",
  arn: "anonymous",
  principal: { anonymous: true },
  policies: [],
};

/** What signatures are checked against; absent if nothing is. */
export interface Authority {
  readonly keys: ReadonlyMap<string, AccessKey>;
  /** The time of the cloud, which policies compare with. */
  readonly now: () => EpochMs;
  /** The time of the machine. Clients sign with theirs, even where the cloud's time is virtual. */
  readonly systemNow: () => EpochMs;
}

/** Everybody, where no signatures are checked. */
export function onlyCaller(account: string): RequestCaller {
  const arn = `arn:aws:iam::${account}:user/tidegate`;
  return { userId: senderIdOf(account), account, arn, principal: { arn }, policies: null };
}

// Cloud options: what `startCloud` accepts.

import type { FaultSpec } from "../broker/model/fault-plan.ts";
import type { CloudAuth } from "./access-keys.ts";
import type { CloudSetup } from "./setup/cloud-setup.ts";

export type { FaultSpec };

/** Options of `startCloud`; without any, it runs in memory on a free port. */
export interface CloudOptions {
  /** Keeps everything in memory. Default: true if there is no `data` folder. */
  readonly memory?: boolean;
  /** Folder for the durable data. */
  readonly data?: string;
  /** Default: 0, which chooses a free port. */
  readonly port?: number;
  /** Address to listen on; beyond loopback with `auth` or `insecure` only. Default: 127.0.0.1. */
  readonly host?: string;
  /** The keys that requests must be signed with. Default: signatures are not checked. */
  readonly auth?: CloudAuth;
  /**
   * Listens beyond loopback without `auth`: everyone who reaches the port can read, change and
   * delete everything. Default: false.
   */
  readonly insecure?: boolean;
  /** "virtual": time only moves with `clock.advance`. Default: "system". */
  readonly clock?: "system" | "virtual";
  /** Region in ARNs. Default: "us-east-1". */
  readonly region?: string;
  /** Account in ARNs and queue URLs, 12 digits. Default: "000000000000". */
  readonly account?: string;
  /** The eventVersion of S3 events, to test consumers with older versions. */
  readonly s3EventVersion?: string;
  /** Queue that receives the EventBridge events of buckets that have EventBridge enabled. */
  readonly eventBridgeQueue?: string;
  /**
   * Whether queue policies restrict deliveries from topics and buckets. Default: true with `auth`,
   * else false. Without it, every topic and bucket may deliver to every queue.
   */
  readonly enforcePolicies?: boolean;
  /**
   * Believes the system clock, however far it is ahead of the data. Without it, a clock that is
   * more than a day ahead expires nothing until the cloud has run for 24 hours. Default: false.
   */
  readonly acceptClock?: boolean;
  /**
   * Queues, topics, subscriptions and buckets to create before the first response. The setup is
   * validated as a whole, and existing resources are not changed.
   */
  readonly setup?: CloudSetup;
  /** Names other than loopback names and IP addresses that clients may call it by (Host header). */
  readonly allowedHosts?: readonly string[];
  /**
   * The name under which clients reach buckets as hosts: "tidegate" for `bucket.tidegate:4566`, as
   * in a container network. It is also an allowed host. `bucket.localhost` always works.
   */
  readonly baseHost?: string;
  /** Lets topics deliver to http endpoints on link-local addresses. Default: false. */
  readonly allowLinkLocalEndpoints?: boolean;
  /** Initial faults; `/_tidegate/faults` changes them. Their targets need not exist yet. */
  readonly faults?: readonly FaultSpec[];
  /** The version that `/_tidegate/health` reports. Default: that of this package. */
  readonly version?: string;
  /** Called for every failure that a client did not cause. Default: console.error. */
  readonly onError?: (error: unknown) => void;
  /** Maximum number of pages of the data file; only for tests of a full disk. */
  readonly dataPagesMax?: number;
}

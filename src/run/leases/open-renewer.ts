// Open renewer: the lease renewer that fits an environment and a ledger.
//   R1. On AWS it runs in its own thread, so that a handler that blocks the event loop keeps its
//       leases.
//   R2. On the embedded cloud it runs in this thread. A thread could only ask the cloud over HTTP,
//       and the cloud does not answer while the event loop is blocked: the request would wait for
//       the same handler.
//   R3. The embedded cloud cannot redeliver while it is blocked, so that time does not count: a
//       handler that blocks it past its lease keeps the lease, as on AWS.

import type { DurationMs } from "../../core/units.ts";
import { createLeaseRenewer } from "../../ingest/running/lease-renewer.ts";
import { systemPorts } from "../../platform/index.ts";
import type { LeaseRenewer } from "../../ports/lease-renewer.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { AwsEnvironment } from "../open/aws-environment.ts";
import type { Environment } from "../open/environment.ts";
import { parseStoreUrl } from "../open/store-url.ts";
import { startLeaseThread } from "./lease-thread.ts";

export interface RenewedLedger {
  readonly ledger: Ledger;
  /** A thread opens its own connection. */
  readonly url: string;
}

export interface RenewalTerms {
  /** A renewed claim is kept for as long as any other record. */
  readonly retentionMs: DurationMs;
  readonly scope: LedgerScope;
  readonly visibilityMs: DurationMs;
  readonly leaseMs: DurationMs;
}

/** Opens the renewer of a pipeline whose ledger and queues are open. */
export type OpenRenewer = (
  ledger: RenewedLedger,
  terms: RenewalTerms,
  telemetry: Telemetry,
) => LeaseRenewer | Promise<LeaseRenewer>;

/** A renewer in this thread, for a queue in this thread (R2, R3). */
export function openRenewer(
  environment: Environment,
  ledger: RenewedLedger,
  terms: RenewalTerms,
  telemetry: Telemetry,
): LeaseRenewer {
  return openLoopRenewer(environment, ledger, terms, telemetry, true);
}

function openLoopRenewer(
  { queue }: Environment,
  { ledger }: RenewedLedger,
  { scope, visibilityMs, leaseMs }: RenewalTerms,
  telemetry: Telemetry,
  loopQueue: boolean,
): LeaseRenewer {
  const ports = { queue, ledger, scope, clock: systemPorts.clock, telemetry };
  return createLeaseRenewer(ports, { visibilityMs, leaseMs, loopQueue });
}

/** A renewer in its own thread (R1); a ledger in memory is out of a thread's reach. */
export function openAwsRenewer(
  environment: AwsEnvironment,
  ledger: RenewedLedger,
  terms: RenewalTerms,
  telemetry: Telemetry,
): LeaseRenewer | Promise<LeaseRenewer> {
  if (parseStoreUrl(ledger.url, "ledger").store === "memory") {
    return openLoopRenewer(environment, ledger, terms, telemetry, false);
  }
  const { connection: queue } = environment;
  return startLeaseThread({ telemetry }, { queue, ledgerUrl: ledger.url, ...terms });
}

// Open renewer: the lease renewer that fits an environment and a ledger.
//   R1. On AWS it runs in its own thread, so that a handler that blocks the event loop keeps its
//       leases.
//   R2. On the embedded cloud it runs in this thread. A thread could only ask the cloud over HTTP,
//       and the cloud does not answer while the event loop is blocked: the request would wait for
//       the same handler. Renewing the claim alone does not help, since the message expires.
//   R3. A handler that blocks the embedded cloud past its lease loses nothing. The cloud cannot
//       redeliver while it is blocked. Afterwards the lease is over by the clock, the outcome is
//       not committed, and the message is redelivered.

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

/** A renewer in this thread (R2). */
export function openRenewer(
  { queue }: Environment,
  { ledger }: RenewedLedger,
  { scope, visibilityMs, leaseMs }: RenewalTerms,
  telemetry: Telemetry,
): LeaseRenewer {
  const ports = { queue, ledger, scope, clock: systemPorts.clock, telemetry };
  return createLeaseRenewer(ports, { visibilityMs, leaseMs });
}

/** A renewer in its own thread (R1); a ledger in memory is out of a thread's reach. */
export function openAwsRenewer(
  environment: AwsEnvironment,
  ledger: RenewedLedger,
  terms: RenewalTerms,
  telemetry: Telemetry,
): LeaseRenewer | Promise<LeaseRenewer> {
  if (parseStoreUrl(ledger.url, "ledger").store === "memory") {
    return openRenewer(environment, ledger, terms, telemetry);
  }
  const { connection: queue } = environment;
  return startLeaseThread({ telemetry }, { queue, ledgerUrl: ledger.url, ...terms });
}

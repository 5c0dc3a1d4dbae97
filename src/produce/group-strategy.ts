// Group strategies: which messages of a FIFO queue stay in order, or, on a standard queue, which
// messages share a tenant's fair share.
//   G1. A strategy is a function of the event alone. A replay gets the same group; otherwise a
//       queue that deduplicates per group would accept it a second time.
//   G2. Every name becomes a group id that SQS accepts, and two names never become the same id.

import { sha256Bytes, sha256Hex } from "../core/encoding/hash.ts";
import { refuseConfig, TidegateError } from "../core/errors.ts";
import type { EnvelopeInput } from "../core/events/envelope.ts";

/** Returns the message group of an event. It must depend on the event alone (G1). */
export type GroupStrategy = (event: EnvelopeInput) => string;

/** Printable ASCII; the prefix "h:" is reserved for hashed names. */
const GROUP_ID = /^(?!h:)[!-~]{1,128}$/;
const GROUPS_MAX = 100_000;

/** Events of one entity stay in order; entities do not wait for each other. */
export function perEntity(entityOf: (event: EnvelopeInput) => string): GroupStrategy {
  return (event) => groupId(entityOf(event));
}

/** Events of one tenant stay in order, and no tenant starves the others. */
export function perTenant(tenantOf: (event: EnvelopeInput) => string): GroupStrategy {
  return (event) => groupId(tenantOf(event));
}

/** A fixed number of groups; events that share `keyOf` share a group. */
export function fixedGroups(
  count: number,
  keyOf: (event: EnvelopeInput) => string = ({ dedupeKey }) => dedupeKey,
): GroupStrategy {
  if (!Number.isInteger(count) || count < 1 || count > GROUPS_MAX) {
    const message = `${count} groups; the number of groups must be a whole number from 1 to ${GROUPS_MAX}`;
    refuseConfig(message);
  }
  return (event) => {
    const digest = sha256Bytes(nameOf(keyOf(event)));
    const number = new DataView(digest.buffer, digest.byteOffset).getUint32(0);
    return `group-${number % count}`;
  };
}

function nameOf(name: unknown): string {
  if (typeof name === "string" && name !== "" && name.isWellFormed()) return name;
  throw new TidegateError(
    "TG_VALUE_INVALID",
    "the group strategy returned no group for this event",
  );
}

function groupId(entity: unknown): string {
  const name = nameOf(entity);
  return GROUP_ID.test(name) ? name : `h:${sha256Hex(name)}`; // G2
}

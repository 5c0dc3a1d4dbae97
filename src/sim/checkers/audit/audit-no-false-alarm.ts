// Audit without false alarms: whatever an audit reports as missing, orphaned or doubled is.
//   An object is missing if its message was never sent, purged or expired; an object without a
//   name was written without a notification. A change whose message arrived is in the queue or in
//   the ledger. An effect of the sink is an orphan if the ledger did not have its record when the
//   audit started, or when it ended.

import { type Checker, findings } from "../checker.ts";
import { AuditTruth } from "./audit-truth.ts";

const NAME = "audit-no-false-alarm";

export const auditNoFalseAlarm: Checker = {
  name: NAME,
  promise: "An audit never reports a problem that does not exist.",
  check(events) {
    const { violations, add } = findings(NAME);
    const truth = new AuditTruth();
    for (const event of events) {
      truth.observe(event);
      if (event.kind !== "audited") continue;
      const { at, startedAt, strays } = event;
      const stray = new Set([...strays.before, ...strays.after].map((one) => one.object));
      for (const { object, name, status, ofSink } of event.findings) {
        if (status === "missing" && name !== null && truth.arrived(name, startedAt)) {
          add(at, [name], `${object} is reported as missing, but ${name} arrived`);
        }
        if (status === "double" && name !== null && truth.appliedBy(name) < 2) {
          add(at, [name], `${object} is reported as double, but ${name} was not applied twice`);
        }
        if (status === "orphan" && ofSink && !stray.has(object)) {
          add(at, [], `an effect of ${object} is reported as an orphan, but its record exists`);
        }
        const last = truth.lastOf(object);
        if (ofSink || status !== "orphan" || last === undefined || last.change === "put") continue;
        if (truth.arrived(last.name, startedAt)) {
          add(at, [last.name], `${object} is reported as an orphan, but ${last.name} arrived`);
        }
      }
    }
    return violations;
  },
};

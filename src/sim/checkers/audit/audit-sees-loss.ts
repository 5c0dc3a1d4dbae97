// Audit sees loss: an audit says of every object of the bucket what is true of it. An object whose
// message was lost is missing, one that is committed was applied, and one that was applied by two
// records is double. What the sink has of a record that the ledger lacks is an orphan.
//   Objects that changed after the start of the audit are out of its scope.

import type { AuditFinding } from "../../history.ts";
import { AUDIT_GRACE_MS } from "../../hosts/auditor.ts";
import { type Checker, findings } from "../checker.ts";
import { AuditTruth } from "./audit-truth.ts";

const NAME = "audit-sees-loss";

export const auditSeesLoss: Checker = {
  name: NAME,
  promise: "An audit never calls complete what is missing, doubled or an orphan.",
  check(events) {
    const { violations, add } = findings(NAME);
    const truth = new AuditTruth();
    for (const event of events) {
      truth.observe(event);
      if (event.kind !== "audited") continue;
      const { at, startedAt, strays } = event;
      for (const { object, name } of strays.before) {
        if (!strays.after.some((one) => one.object === object && one.name === name)) continue;
        const isSeen = ({ object: of, status, ofSink }: AuditFinding) =>
          of === object && status === "orphan" && ofSink;
        if (event.findings.some(isSeen)) continue;
        add(at, [name], `the sink has ${object} of ${name}, the ledger does not have that record`);
      }
      for (const { object, name } of event.current) {
        const last = truth.lastOf(object);
        if (name === null || last?.name !== name || last.at >= startedAt) continue;
        const finding = event.findings.find((one) => one.object === object && one.name === name);
        const status = finding?.status;
        const problem = (text: string) => add(at, [name], `${object}, put by ${name}, ${text}`);
        const isOld = last.at < startedAt - AUDIT_GRACE_MS;
        if (status === undefined) problem("is not in the audit");
        else if (truth.appliedBy(name) > 1 && status !== "double") problem("is double");
        else if (status === "committed" && truth.appliedBy(name) === 0) {
          problem("is reported as committed and was not applied");
        } else if (truth.isLost(name) && isOld && status !== "missing") {
          problem(`was lost, and is reported as ${status}`);
        } else if (["superseded", "ignored", "gone"].includes(status)) {
          problem(`is current, and is reported as ${status}`);
        }
      }
    }
    return violations;
  },
};

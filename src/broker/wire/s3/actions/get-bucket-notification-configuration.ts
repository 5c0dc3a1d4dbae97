// GetBucketNotificationConfiguration: returns the configuration as stored, with generated ids.

import type { NotificationTarget } from "../../../model/s3/notification-config.ts";
import { NOTIFICATION_ELEMENTS } from "../notification-document.ts";
import { ask, type S3Action } from "../s3-call.ts";
import { denied } from "../s3-errors.ts";
import { element, textElement, xmlReply } from "../xml-output.ts";

export const getBucketNotificationConfiguration: S3Action = {
  name: "GetBucketNotificationConfiguration",
  method: "GET",
  at: "bucket",
  query: ["notification"],
  async run(call) {
    const lookup = await ask(call, "findBucket", { bucket: call.bucket });
    if (!lookup.ok) return denied(call, lookup.fault);
    const { targets, eventBridge } = lookup.value.bucket.notification;
    const bridge = eventBridge ? "<EventBridgeConfiguration/>" : "";
    return xmlReply("NotificationConfiguration", targets.map(writeTarget).join("") + bridge);
  },
};

function writeTarget(target: NotificationTarget): string {
  const { configuration, arn } = NOTIFICATION_ELEMENTS[target.kind];
  const rules = target.rules.map(({ name, value }) =>
    element("FilterRule", textElement("Name", name), textElement("Value", value)),
  );
  return element(
    configuration,
    textElement("Id", target.id),
    textElement(arn, target.arn),
    ...target.events.map((event) => textElement("Event", event)),
    rules.length === 0 ? "" : element("Filter", element("S3Key", ...rules)),
  );
}

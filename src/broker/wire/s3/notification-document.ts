// The notification document: parses its XML to the model's configuration.

import { type Result, succeed } from "../../../core/result.ts";
import type {
  KeyFilterRule,
  NotificationConfig,
  NotificationTarget,
  TargetKind,
} from "../../model/s3/notification-config.ts";
import type { S3Fault } from "../../model/s3/s3-fault.ts";
import { malformedXml } from "./request-body.ts";
import { invalidArgument } from "./s3-errors.ts";
import { childrenOf, childText, parseXml, type XmlNode } from "./xml-input.ts";

/** The element names of each kind of destination. */
export const NOTIFICATION_ELEMENTS = {
  topic: { configuration: "TopicConfiguration", arn: "Topic" },
  queue: { configuration: "QueueConfiguration", arn: "Queue" },
  function: { configuration: "CloudFunctionConfiguration", arn: "CloudFunction" },
} as const satisfies Record<TargetKind, { configuration: string; arn: string }>;

const RULE_NAMES: Readonly<Record<string, KeyFilterRule["name"]>> = {
  prefix: "Prefix",
  suffix: "Suffix",
};

export function parseNotification(body: string): Result<NotificationConfig, S3Fault> {
  const root = parseXml(body, "NotificationConfiguration");
  if (root === null) return malformedXml();
  const targets: NotificationTarget[] = [];
  for (const kind of ["topic", "queue", "function"] as const) {
    for (const node of childrenOf(root, NOTIFICATION_ELEMENTS[kind].configuration)) {
      const target = parseTarget(kind, node);
      if (!target.ok) return target;
      targets.push(target.value);
    }
  }
  const eventBridge = root.children.has("EventBridgeConfiguration");
  return succeed({ targets, eventBridge });
}

function parseTarget(kind: TargetKind, node: XmlNode): Result<NotificationTarget, S3Fault> {
  const arn = childText(node, NOTIFICATION_ELEMENTS[kind].arn);
  const events = childrenOf(node, "Event").map(({ text }) => text);
  if (arn === null || events.length === 0) return malformedXml();
  const rules: KeyFilterRule[] = [];
  for (const filter of childrenOf(node, "Filter").flatMap((each) => childrenOf(each, "S3Key"))) {
    for (const rule of childrenOf(filter, "FilterRule")) {
      const name = childText(rule, "Name");
      const value = childText(rule, "Value");
      if (name === null || value === null) return malformedXml();
      const ruleName = RULE_NAMES[name.toLowerCase()];
      if (ruleName === undefined) {
        const message = "filter rule name must be either prefix or suffix";
        return invalidArgument("FilterRule.Name", name, message);
      }
      rules.push({ name: ruleName, value });
    }
  }
  return succeed({ kind, id: childText(node, "Id") ?? "", arn, events, rules });
}

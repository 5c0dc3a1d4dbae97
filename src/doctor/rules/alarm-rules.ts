// Alarm rules: what no one would notice. They apply where alarms can be read: in Terraform.

import type { Match, Rule } from "../rule.ts";
import type { ObservedAlarm, ObservedQueue, Setup } from "../setup.ts";
import { consumedQueues, deadLetterQueues } from "./consumed-queues.ts";

const VISIBLE = "ApproximateNumberOfMessagesVisible";
const AGE = "ApproximateAgeOfOldestMessage";
const SENT = "NumberOfMessagesSent";

export const ALARM_RULES: readonly Rule[] = [
  {
    id: "TGD050",
    name: "dead-letter-alarm-missing",
    title: "No alarm on dead letters",
    severity: "error",
    risk: "blindness",
    consequence: "Dead letters are deleted after 14 days, and no one has seen them.",
    fix: "Add an alarm on ApproximateNumberOfMessagesVisible > 0 of the dead-letter queue.",
    check: (setup) =>
      deadLetterQueues(setup).flatMap((queue) => missing(setup, queue, VISIBLE, "a dead letter")),
  },
  {
    id: "TGD051",
    name: "backlog-alarm-missing",
    title: "No alarm on the backlog",
    severity: "warning",
    risk: "blindness",
    consequence: "A consumer that is too slow, or down, is noticed when messages expire.",
    fix: "Add an alarm on ApproximateNumberOfMessagesVisible of the queue.",
    check: (setup) =>
      consumedQueues(setup).flatMap(({ queue }) => missing(setup, queue, VISIBLE, "a backlog")),
  },
  {
    id: "TGD052",
    name: "age-alarm-missing",
    title: "No alarm on the oldest message",
    severity: "warning",
    risk: "blindness",
    consequence: "Messages that wait too long are noticed when they expire.",
    fix: "Add an alarm on ApproximateAgeOfOldestMessage of the queue.",
    check: (setup) =>
      consumedQueues(setup).flatMap(({ queue }) => missing(setup, queue, AGE, "an old message")),
  },
  {
    id: "TGD053",
    name: "alarm-always-on",
    title: "Alarm that is always on",
    severity: "error",
    risk: "blindness",
    consequence: "An alarm that never ends is ignored, also when it is right.",
    fix: "Use GreaterThanThreshold with 0.",
    check: ({ alarms = [] }) =>
      alarms.flatMap((alarm) => {
        const { operator, threshold, location } = alarm;
        if (operator !== "GreaterThanOrEqualToThreshold" || threshold !== 0) return [];
        const message = `alarm ${location.name} fires at ${alarm.metric} >= 0, which is always true; set GreaterThanThreshold`;
        return [{ location, message }];
      }),
  },
  {
    id: "TGD054",
    name: "alarm-without-queue",
    title: "Alarm on SQS without a queue",
    severity: "error",
    risk: "blindness",
    consequence: "SQS has no metric without QueueName, so the alarm never fires.",
    fix: "Add the dimension QueueName.",
    check: ({ alarms = [] }) =>
      alarms.flatMap(({ namespace, queueName, location }) => {
        if (namespace !== "AWS/SQS" || queueName !== null) return [];
        const message = `alarm ${location.name} has no dimension QueueName, so it never fires; add QueueName`;
        return [{ location, message }];
      }),
  },
  {
    id: "TGD055",
    name: "alarm-on-sent",
    title: "Dead letters counted by NumberOfMessagesSent",
    severity: "error",
    risk: "blindness",
    consequence: "Messages that SQS moves are not counted as sent, so the alarm never fires.",
    fix: "Use ApproximateNumberOfMessagesVisible.",
    check: (setup) => {
      const dead = new Set(deadLetterQueues(setup).map(({ name }) => name));
      return (setup.alarms ?? []).flatMap(({ metric, queueName, location }) => {
        if (metric !== SENT || typeof queueName !== "string" || !dead.has(queueName)) return [];
        const message = `alarm ${location.name} counts ${SENT} of ${queueName}, which moved messages do not change; use ${VISIBLE}`;
        return [{ location, message }];
      });
    },
  },
  {
    id: "TGD056",
    name: "alarm-without-action",
    title: "Alarm that notifies no one",
    severity: "warning",
    risk: "blindness",
    consequence: "The alarm changes its colour on a page that no one watches.",
    fix: "Name a topic in alarm_actions.",
    check: ({ alarms = [] }) =>
      alarms.flatMap(({ namespace, hasActions, location }) => {
        if (namespace !== "AWS/SQS" || hasActions !== false) return [];
        const message = `alarm ${location.name} has no action, so it notifies no one; name a topic in alarm_actions`;
        return [{ location, message }];
      }),
  },
  {
    id: "TGD057",
    name: "dashboard-missing",
    title: "No dashboard",
    severity: "note",
    risk: "blindness",
    consequence: "During an incident, the state of the queues has to be collected by hand.",
    fix: "Add a dashboard of the queues, in CloudWatch or from the metrics of tidegate run.",
    check: ({ dashboards, queues, pipeline }) => {
      const [queue] = queues;
      if (dashboards !== 0 || pipeline !== null || queue === undefined) return [];
      const message = "no dashboard shows the queues; add one, or use the metrics of tidegate run";
      return [{ location: queue.location, message }];
    },
  },
];

function missing(
  setup: Setup,
  queue: ObservedQueue,
  metric: string,
  what: string,
): readonly Match[] {
  if (setup.alarms === undefined || queue.location.file === undefined) return [];
  if (setup.alarms.some((alarm) => watches(alarm, queue.name, metric))) return [];
  const message = `no alarm watches ${metric} of ${queue.name}, so no one notices ${what}; add an alarm`;
  return [{ location: queue.location, message }];
}

/** An alarm whose queue or metric is unknown may be the one. */
function watches({ metric, queueName }: ObservedAlarm, name: string, wanted: string): boolean {
  if (metric !== undefined && metric !== wanted) return false;
  return queueName === undefined || queueName === name;
}

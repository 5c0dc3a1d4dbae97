// Alarm table: the CloudWatch alarms of a pipeline. The module `alarms`, `tidegate doctor` and
// docs/guides/terraform.md use it.
//   A1. A threshold can be met and can be missed: an alarm of "at least 0" would always be on.
//   A2. Every alarm names the runbook that says what to do.
//   A3. Missing data is not breaching: SQS stops reporting metrics of an idle queue.

export type AlarmedResource = "queue" | "dead-letter-queue" | "topic";
export type AlarmOperator =
  | "GreaterThanThreshold"
  | "GreaterThanOrEqualToThreshold"
  | "LessThanThreshold"
  | "LessThanLowerThreshold";

interface AlarmFields {
  readonly name: string;
  readonly severity: "critical" | "warning";
  readonly on: AlarmedResource;
  readonly operator: AlarmOperator;
  readonly periodSeconds: number;
  /** Periods in a row that must breach. */
  readonly periods: number;
  readonly why: string;
  /** Page in docs/runbooks, with an anchor. */
  readonly runbook: string;
}

export type AlarmStatistic = "Average" | "Maximum" | "Sum";

/** Compares one metric with a number. */
export interface ThresholdAlarm extends AlarmFields {
  readonly kind: "threshold";
  readonly metric: string;
  readonly statistic: AlarmStatistic;
  readonly threshold: number;
}

/** Compares one metric with what CloudWatch expects from its past. */
export interface AnomalyAlarm extends AlarmFields {
  readonly kind: "anomaly";
  readonly metric: string;
  readonly statistic: AlarmStatistic;
  /** Width of the expected band, in standard deviations. */
  readonly deviations: number;
}

/** Compares a formula of two metrics, `a` and `b`, with a number. */
export interface FormulaAlarm extends AlarmFields {
  readonly kind: "formula";
  readonly formula: string;
  readonly metrics: Readonly<Record<"a" | "b", string>>;
  readonly statistic: AlarmStatistic;
  readonly threshold: number;
}

export type AlarmRow = ThresholdAlarm | AnomalyAlarm | FormulaAlarm;

const VISIBLE = "ApproximateNumberOfMessagesVisible";
const DELETED = "NumberOfMessagesDeleted";
const MINUTE = 60;
const DAY = 86_400;

/** In the order of the page. */
export const ALARM_TABLE: readonly AlarmRow[] = [
  {
    name: "dead-letters",
    kind: "threshold",
    severity: "critical",
    on: "dead-letter-queue",
    metric: VISIBLE,
    statistic: "Maximum",
    operator: "GreaterThanThreshold", // A1
    threshold: 0,
    periodSeconds: MINUTE,
    periods: 1,
    why: "A message could not be processed.",
    runbook: "dead-letter-redrive.md#runbook-dead-letters",
  },
  {
    name: "dead-letters-expire",
    kind: "threshold",
    severity: "critical",
    on: "dead-letter-queue",
    metric: "ApproximateAgeOfOldestMessage",
    statistic: "Maximum",
    operator: "GreaterThanThreshold",
    threshold: 7 * DAY,
    periodSeconds: 60 * MINUTE,
    periods: 1,
    why: "Dead letters are deleted after 14 days, counted from the first send on a standard queue.",
    runbook: "dead-letter-redrive.md#runbook-dead-letters",
  },
  {
    name: "backlog",
    kind: "threshold",
    severity: "warning",
    on: "queue",
    metric: VISIBLE,
    statistic: "Average",
    operator: "GreaterThanThreshold",
    threshold: 1_000,
    periodSeconds: 5 * MINUTE,
    periods: 2,
    why: "Messages arrive faster than they are processed.",
    runbook: "backlog.md#the-queue-grows",
  },
  {
    name: "backlog-critical",
    kind: "threshold",
    severity: "critical",
    on: "queue",
    metric: VISIBLE,
    statistic: "Average",
    operator: "GreaterThanThreshold",
    threshold: 10_000,
    periodSeconds: 5 * MINUTE,
    periods: 2,
    why: "Messages arrive much faster than they are processed.",
    runbook: "backlog.md#the-queue-grows",
  },
  {
    name: "age",
    kind: "threshold",
    severity: "warning",
    on: "queue",
    metric: "ApproximateAgeOfOldestMessage",
    statistic: "Maximum",
    operator: "GreaterThanThreshold",
    threshold: 5 * MINUTE,
    periodSeconds: 5 * MINUTE,
    periods: 2,
    why: "A message waits longer than 5 minutes.",
    runbook: "backlog.md#messages-wait-too-long",
  },
  {
    name: "age-critical",
    kind: "threshold",
    severity: "critical",
    on: "queue",
    metric: "ApproximateAgeOfOldestMessage",
    statistic: "Maximum",
    operator: "GreaterThanThreshold",
    threshold: 30 * MINUTE,
    periodSeconds: 5 * MINUTE,
    periods: 2,
    why: "A message waits longer than 30 minutes.",
    runbook: "backlog.md#messages-wait-too-long",
  },
  {
    name: "in-flight",
    kind: "threshold",
    severity: "warning",
    on: "queue",
    metric: "ApproximateNumberOfMessagesNotVisible",
    statistic: "Maximum",
    operator: "GreaterThanThreshold",
    threshold: 100_000,
    periodSeconds: 5 * MINUTE,
    periods: 2,
    why: "SQS stops delivering at 120000 messages in flight; consumers may hang.",
    runbook: "backlog.md#too-many-messages-in-flight",
  },
  {
    name: "stalled",
    kind: "formula",
    severity: "critical",
    on: "queue",
    formula: "IF(a > 0 AND FILL(b, 0) < 1, 1, 0)",
    metrics: { a: VISIBLE, b: DELETED },
    statistic: "Sum",
    operator: "GreaterThanThreshold",
    threshold: 0,
    periodSeconds: 5 * MINUTE,
    periods: 3,
    why: "Messages wait and none was processed for 15 minutes. The age of the oldest message does not show it: SQS leaves poison messages out.",
    runbook: "backlog.md#nothing-is-processed",
  },
  {
    name: "fewer-sent",
    kind: "anomaly",
    severity: "warning",
    on: "queue",
    metric: "NumberOfMessagesSent",
    statistic: "Sum",
    operator: "LessThanLowerThreshold",
    deviations: 2,
    periodSeconds: 15 * MINUTE,
    periods: 4,
    why: "Far fewer messages arrive than usual at this time.",
    runbook: "backlog.md#fewer-messages-than-usual",
  },
  {
    name: "fewer-processed",
    kind: "anomaly",
    severity: "warning",
    on: "queue",
    metric: DELETED,
    statistic: "Sum",
    operator: "LessThanLowerThreshold",
    deviations: 2,
    periodSeconds: 15 * MINUTE,
    periods: 4,
    why: "Far fewer messages are processed than usual at this time.",
    runbook: "backlog.md#fewer-messages-than-usual",
  },
  {
    name: "undelivered",
    kind: "threshold",
    severity: "critical",
    on: "topic",
    metric: "NumberOfNotificationsFailed",
    statistic: "Sum",
    operator: "GreaterThanThreshold",
    threshold: 0,
    periodSeconds: 5 * MINUTE,
    periods: 1,
    why: "The topic cannot deliver to the queue: check the queue policy and the KMS key.",
    runbook: "backlog.md#the-topic-cannot-deliver",
  },
];

/** The alarms of a pipeline with or without a topic. */
export function alarmsOf({ topic }: { readonly topic: string | null }): readonly AlarmRow[] {
  return ALARM_TABLE.filter(({ on }) => on !== "topic" || topic !== null);
}

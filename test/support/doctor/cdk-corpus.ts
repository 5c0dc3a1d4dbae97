// CDK corpus: stacks in TypeScript and Python, good and with one mistake each.

import { type CorpusCase, changed } from "./corpus-case.ts";

type Changes = readonly (readonly [string, string])[];

const cases = (file: string, base: string) => ({
  bad: (rule: string, title: string, ...changes: Changes): CorpusCase => ({
    rule,
    title: `${file}: ${title}`,
    breaks: [rule],
    files: { [file]: changed(base, ...changes) },
  }),
  good: (rule: string, title: string, ...changes: Changes): CorpusCase => ({
    rule,
    title: `${file}: ${title}`,
    breaks: [],
    files: { [file]: changed(base, ...changes) },
  }),
});

const typescript = cases(
  "lib/orders-stack.ts",
  `import { Duration, Stack, type StackProps } from "aws-cdk-lib";
import { Queue } from "aws-cdk-lib/aws-sqs";
import * as lambda from "aws-cdk-lib/aws-lambda";
import { SqsEventSource } from "aws-cdk-lib/aws-lambda-event-sources";
import * as pipes from "aws-cdk-lib/aws-pipes";

export class OrdersStack extends Stack {
  constructor(scope: Construct, id: string, props?: StackProps) {
    super(scope, id, props);
    const rejected = new Queue(this, "Rejected", { retentionPeriod: Duration.days(14) });
    const orders = new Queue(this, "Orders", {
      visibilityTimeout: Duration.minutes(2),
      deadLetterQueue: { queue: rejected, maxReceiveCount: 5 },
    });
    const worker = new lambda.Function(this, "Worker", { ...code, timeout: Duration.seconds(20) });
    const booker = new lambda.Function(this, "Booker", { timeout: Duration.seconds(20) });
    booker.addEventSource(new SqsEventSource(orders, { reportBatchItemFailures: true }));
    new pipes.CfnPipe(this, "Flow", {
      source: orders.queueArn,
      target: flow.stateMachineArn,
      targetParameters: {
        stepFunctionStateMachineParameters: { invocationType: "REQUEST_RESPONSE" },
      },
    });
  }
}
`,
);
const REDRIVE = "      deadLetterQueue: { queue: rejected, maxReceiveCount: 5 },\n";

const python = cases(
  "stacks/orders_stack.py",
  `from aws_cdk import Duration, Stack, aws_lambda as lambda_, aws_sqs as sqs
from aws_cdk.aws_lambda_event_sources import SqsEventSource


class OrdersStack(Stack):
    def __init__(self, scope, construct_id, **kwargs):
        super().__init__(scope, construct_id, **kwargs)
        dlq = sqs.Queue(self, "OrdersDlq", retention_period=Duration.days(14))
        orders = sqs.Queue(
            self,
            "Orders",
            visibility_timeout=Duration.seconds(120),
            dead_letter_queue=sqs.DeadLetterQueue(max_receive_count=5, queue=dlq),
        )
        booker = lambda_.Function(self, "Booker", timeout=Duration.seconds(20))
        booker.add_event_source(
            SqsEventSource(orders, batch_size=5, report_batch_item_failures=True)
        )
`,
);
const KEYWORD =
  "            dead_letter_queue=sqs.DeadLetterQueue(max_receive_count=5, queue=dlq),\n";

export const CDK_CORPUS: readonly CorpusCase[] = [
  typescript.good("dead-letters-none", "a careful stack"),
  typescript.bad(
    "dead-letters-none",
    "no dead-letter queue",
    [REDRIVE, ""],
    ['"Rejected"', '"RejectedDlq"'],
  ),
  typescript.good("dead-letters-none", "properties of another file", [
    REDRIVE,
    "      ...settings,\n",
  ]),
  typescript.bad("receives-one", "one receive", ["maxReceiveCount: 5", "maxReceiveCount: 1"]),
  typescript.bad("dead-letters-retention", "four days for dead letters", [
    "Duration.days(14)",
    "Duration.days(4)",
  ]),
  typescript.bad("function-fails-whole-batch", "no partial failures", [
    "{ reportBatchItemFailures: true }",
    "{ batchSize: 10 }",
  ]),
  typescript.good("function-fails-whole-batch", "options of another file", [
    "{ reportBatchItemFailures: true }",
    "options",
  ]),
  typescript.bad("visibility-below-function", "a timeout of a minute", [
    "{ timeout: Duration.seconds(20) }",
    "{ timeout: Duration.minutes(1) }",
  ]),
  typescript.bad("pipe-fire-and-forget", "a pipe that forgets", [
    "REQUEST_RESPONSE",
    "FIRE_AND_FORGET",
  ]),
  python.good("dead-letters-none", "a careful stack"),
  python.bad("dead-letters-none", "no dead-letter queue", [KEYWORD, ""]),
  python.bad("receives-one", "one receive", ["max_receive_count=5", "max_receive_count=1"]),
  python.bad("function-fails-whole-batch", "no partial failures", [
    ", report_batch_item_failures=True",
    "",
  ]),
  python.good("function-fails-whole-batch", "one message per call", [
    "batch_size=5, report_batch_item_failures=True",
    "batch_size=1",
  ]),
  python.bad("visibility-below-function", "a timeout of a minute", [
    "timeout=Duration.seconds(20)",
    "timeout=Duration.seconds(60)",
  ]),
];

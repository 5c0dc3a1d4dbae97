// Template corpus: CloudFormation, SAM and serverless.yml, good and with one mistake each.

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

const SAM = `AWSTemplateFormatVersion: "2010-09-09"
Transform: AWS::Serverless-2016-10-31
Globals:
  Function: { Timeout: 20 }
Parameters:
  Stage: { Type: String, Default: prod }
Resources:
  Parcels:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: !Sub "parcels-\${Stage}"
      VisibilityTimeout: 120
      RedrivePolicy:
        deadLetterTargetArn: !GetAtt UnsortedDead.Arn
        maxReceiveCount: 5
  UnsortedDead:
    Type: AWS::SQS::Queue
    Properties: { MessageRetentionPeriod: 1209600 }
  Sorter:
    Type: AWS::Serverless::Function
    Properties:
      Handler: sort.handler
      Events:
        Parcels:
          Type: SQS
          Properties:
            Queue: !GetAtt Parcels.Arn
            BatchSize: 10
            FunctionResponseTypes: [ReportBatchItemFailures]
`;
const SAM_REDRIVE = `      RedrivePolicy:
        deadLetterTargetArn: !GetAtt UnsortedDead.Arn
        maxReceiveCount: 5
`;
const RESPONSES = "            FunctionResponseTypes: [ReportBatchItemFailures]\n";
const sam = cases("template.yaml", SAM);

const CLOUDFORMATION = JSON.stringify(
  {
    Resources: {
      Jobs: {
        Type: "AWS::SQS::Queue",
        Properties: {
          FifoQueue: true,
          ReceiveMessageWaitTimeSeconds: 20,
          RedrivePolicy: {
            deadLetterTargetArn: { "Fn::GetAtt": ["Rejected", "Arn"] },
            maxReceiveCount: 10,
          },
        },
      },
      Rejected: {
        Type: "AWS::SQS::Queue",
        Properties: { FifoQueue: true, MessageRetentionPeriod: 1209600 },
      },
      Start: {
        Type: "AWS::Pipes::Pipe",
        Properties: {
          Source: { "Fn::GetAtt": ["Jobs", "Arn"] },
          Target: { Ref: "Flow" },
          TargetParameters: {
            StepFunctionStateMachineParameters: { InvocationType: "REQUEST_RESPONSE" },
          },
        },
      },
      Nightly: {
        Type: "AWS::Scheduler::Schedule",
        Properties: { Target: { DeadLetterConfig: { Arn: { "Fn::GetAtt": ["Missed", "Arn"] } } } },
      },
      Missed: { Type: "AWS::SQS::Queue" },
    },
  },
  null,
  2,
);
const stack = cases("stack.json", CLOUDFORMATION);

const SERVERLESS = `service: invoices
custom:
  size: 10
provider:
  name: aws
  timeout: 10
functions:
  book:
    handler: book.handler
    events:
      - sqs:
          arn: !GetAtt Invoices.Arn
          batchSize: \${self:custom.size}
          functionResponseType: ReportBatchItemFailures
resources:
  Resources:
    Invoices:
      Type: AWS::SQS::Queue
      Properties:
        VisibilityTimeout: 60
        RedrivePolicy:
          deadLetterTargetArn: !GetAtt FailedInvoices.Arn
          maxReceiveCount: 5
    FailedInvoices:
      Type: AWS::SQS::Queue
      Properties:
        MessageRetentionPeriod: 1209600
`;
const serverless = cases("serverless.yml", SERVERLESS);

export const TEMPLATE_CORPUS: readonly CorpusCase[] = [
  sam.good("dead-letters-none", "a careful function"),
  sam.bad("dead-letters-none", "no redrive policy", [SAM_REDRIVE, ""]),
  sam.good("dead-letters-none", "a redrive policy of a condition", [
    SAM_REDRIVE,
    `      RedrivePolicy: !If [Live, { deadLetterTargetArn: !GetAtt UnsortedDead.Arn }, !Ref AWS::NoValue]
`,
  ]),
  sam.bad("function-fails-whole-batch", "no response types", [RESPONSES, ""]),
  sam.good(
    "function-fails-whole-batch",
    "one message per call",
    [RESPONSES, ""],
    ["BatchSize: 10", "BatchSize: 1"],
  ),
  sam.bad("visibility-below-function", "a timeout of a minute", ["Timeout: 20", "Timeout: 60"]),
  sam.bad("receives-one", "one receive", ["maxReceiveCount: 5", "maxReceiveCount: 1"]),
  sam.bad("dead-letters-retention", "the default retention", [
    "    Properties: { MessageRetentionPeriod: 1209600 }\n",
    "",
  ]),
  sam.bad("retention-short", "an hour", [
    "      VisibilityTimeout: 120\n",
    "      VisibilityTimeout: 120\n      MessageRetentionPeriod: 3600\n",
  ]),
  sam.bad("queue-unencrypted", "encryption switched off", [
    "      VisibilityTimeout: 120\n",
    "      VisibilityTimeout: 120\n      SqsManagedSseEnabled: false\n",
  ]),
  stack.good("pipe-fire-and-forget", "a pipe that waits, and the failures of a schedule"),
  stack.bad("pipe-fire-and-forget", "a pipe that forgets", ["REQUEST_RESPONSE", "FIRE_AND_FORGET"]),
  stack.bad("pipe-to-ecs", "a pipe to tasks", [
    '"StepFunctionStateMachineParameters": {\n            "InvocationType": "REQUEST_RESPONSE"',
    '"EcsTaskParameters": {\n            "TaskCount": 1',
  ]),
  stack.bad("dead-letters-time-left", "a day for dead letters", ["1209600", "86400"]),
  stack.good("short-polling", "a queue that a pipe polls", [
    '"ReceiveMessageWaitTimeSeconds": 20',
    '"ReceiveMessageWaitTimeSeconds": 0',
  ]),
  serverless.good("dead-letters-none", "a careful service"),
  serverless.bad("dead-letters-none", "no redrive policy", [
    `        RedrivePolicy:
          deadLetterTargetArn: !GetAtt FailedInvoices.Arn
          maxReceiveCount: 5
`,
    "",
  ]),
  serverless.bad("function-fails-whole-batch", "no response type", [
    "          functionResponseType: ReportBatchItemFailures\n",
    "",
  ]),
  serverless.good(
    "function-fails-whole-batch",
    "a size that the file does not have",
    ["          functionResponseType: ReportBatchItemFailures\n", ""],
    ["self:custom.size", "env:SIZE"],
  ),
  serverless.bad("visibility-below-function", "the default visibility timeout", [
    "        VisibilityTimeout: 60\n",
    "",
  ]),
  serverless.good("short-polling", "a queue of another file", [
    "arn: !GetAtt Invoices.Arn",
    "arn: !GetAtt Elsewhere.Arn",
  ]),
];

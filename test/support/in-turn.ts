// In turn: files of test/integration that run one after another in a worker that others share.
//   N1. Such a file starts no process, measures neither memory nor time of its own process, and
//       leaves nothing behind: no patched global, variable of the environment, or open server.
//   N2. A new process per file would import some 700 modules again, which costs about a second of
//       processor time: more than most of these files.

/** Paths from test/integration, without ".test.ts". */
export const IN_TURN: readonly string[] = [
  "aws/aws-adapters",
  "aws/consumer-client",
  "aws/look-at-queues",
  "cloud/damaged-object",
  "cloud/public-cloud",
  "cloud/start-cloud",
  "command/retry-command",
  "command/why-tried",
  "console/console-api",
  "console/console-controls",
  "dead-letters/dead-letter-limit",
  "dead-letters/dead-letters-api",
  "dead-letters/own-dead-letters",
  "dead-letters/quarantine",
  "doctor/bad-doctor-input",
  "examples/stations",
  "ledger/ledger-and-comply",
  "messages/archived-claim-checks",
  "messages/masking",
  "messages/own-messages",
  "produce/compliance",
  "replay/replay",
  "run/dev-setup",
  "run/endpoint-file",
  "run/metrics-listener",
  "run/pipeline-control",
  "run/run-limits",
  "run/run-pipeline",
  "tables/sql-effects",
  "telemetry/cloud-metrics",
  "telemetry/consumer-telemetry",
  "telemetry/top",
  "telemetry/trace-propagation",
  "testkit/test-pipeline",
];

// In turn: files of test/integration that run one after another in a worker that others share.
//   N1. Such a file starts no process, measures neither memory nor time of its own process, and
//       leaves nothing behind: no patched global, variable of the environment, or open server.
//   N2. A new process per file would import some 700 modules again, which costs about a second of
//       processor time: more than most of these files.

/** Paths from test/integration, without ".test.ts". */
export const IN_TURN: readonly string[] = [
  "archived-claim-checks",
  "aws-adapters",
  "bad-doctor-input",
  "cloud-metrics",
  "cloud/public-cloud",
  "cloud/start-cloud",
  "compliance",
  "console/console-api",
  "console/console-controls",
  "consumer-client",
  "consumer-telemetry",
  "damaged-object",
  "dead-letter-limit",
  "dead-letters-api",
  "ledger-and-comply",
  "look-at-queues",
  "masking",
  "own-dead-letters",
  "own-messages",
  "pipeline-control",
  "quarantine",
  "replay/replay",
  "retry-command",
  "run/dev-setup",
  "run/endpoint-file",
  "run/metrics-listener",
  "run/run-limits",
  "run/run-pipeline",
  "sql-effects",
  "stations",
  "test-pipeline",
  "top",
  "trace-propagation",
  "why-tried",
];

// What to try: commands that `tidegate dev` prints for a second terminal. Each works as pasted, apart
// from FILE.

import { buildEnvelope } from "../../core/events/envelope.ts";
import type { EpochMs } from "../../core/units.ts";
import { SETTINGS } from "../../run/config.ts";
import type { RunningDev } from "../../run/dev/start-dev.ts";
import { ownCommand } from "../own-command.ts";

type Started = Pick<RunningDev, "endpoint" | "names" | "queueName" | "metricsOrigin">;
type Hint = readonly [remark: string, command: string];

export interface TryOptions {
  readonly data: string;
  readonly folder: string | undefined;
  readonly prefix: string;
  /** Time of the sample event. */
  readonly now: EpochMs;
}

const AWS = "aws --endpoint-url $AWS_ENDPOINT_URL"; // The AWS CLI reads the variable since 2.13.

export function whatToTry(started: Started, options: TryOptions): string[] {
  const { endpoint, names, metricsOrigin } = started;
  const { data, folder } = options;
  const own = ownCommand(process.cwd());
  const dataFlag = data === SETTINGS.data.fallback ? "" : ` --data ${data}`;
  const why = (object: string) => `${own} why ${object}${dataFlag}`;
  const hints: Hint[] = [
    ...(names.bucket === null
      ? messageHints(started, options.now)
      : fileHints(`s3://${names.bucket}/${options.prefix}`, why)),
    ...(folder === undefined
      ? []
      : [["drop a file into the watched folder", `cp FILE ${folder}/`] as const]),
    ["list the dead letters", `${own} dlq list${dataFlag}`],
    ["fix the cause, then redrive them", `${own} dlq redrive${dataFlag}`],
    ["read the metrics", `curl -s ${metricsOrigin}/metrics`],
  ];
  return [
    "",
    "What to try, in another terminal (any credentials work):",
    `  export AWS_ENDPOINT_URL=${endpoint} AWS_REGION=us-east-1`,
    "  export AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any",
    ...hints.flatMap(([remark, command]) => [`  # ${remark}`, `  ${command}`]),
    "",
  ];
}

function fileHints(base: string, why: (object: string) => string): Hint[] {
  return [
    ["put a file, then put it again: nothing changes", `${AWS} s3 cp FILE ${base}`],
    // Every reader rejects a row that is shorter than its header.
    ["put a broken one", `printf 'a,b\\n1\\n' | ${AWS} s3 cp - ${base}broken.csv`],
    ["what happened to it?", why(`${base}broken.csv`)],
  ];
}

/** An envelope, which the pipeline accepts, and a body that it dead-letters. */
function messageHints({ endpoint, queueName }: Started, now: EpochMs): Hint[] {
  const fifo = queueName.endsWith(".fifo");
  const url = `${endpoint}/000000000000/${queueName}`;
  const send = (body: string, dedupId: string) => {
    const ordered = fifo ? ` --message-group-id try --message-deduplication-id ${dedupId}` : "";
    return `${AWS} sqs send-message --queue-url ${url}${ordered} --message-body '${body}'`;
  };
  const sample = buildEnvelope({
    source: "example.shell.try",
    dedupeKey: "first",
    eventTime: now,
    payload: { text: "hello" },
  });
  const valid: Hint[] =
    sample.kind === "valid"
      ? [
          [
            "send an event (put your own payload into it), then send it again: nothing changes",
            send(sample.value.body, sample.value.dedupId),
          ],
        ]
      : [];
  return [...valid, ["send a broken message", send('{"text":"not an envelope"}', "broken")]];
}

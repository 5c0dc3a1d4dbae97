// What to try: commands that `tidegate dev` prints for a second terminal. Each works as pasted.
// Without a sample file, the reader sets FILE in the first lines.

import { buildEnvelope } from "../../core/events/envelope.ts";
import type { EpochMs } from "../../core/units.ts";
import { SETTINGS } from "../../run/config.ts";
import { isUnusable, sampleBody } from "../../run/dev/sample-body.ts";
import type { RunningDev } from "../../run/dev/start-dev.ts";
import type { Pipeline } from "../../run/open/load-pipeline.ts";
import { ownCommand, shellQuoted } from "../own-command.ts";

type Started = Pick<RunningDev, "endpoint" | "names" | "queueName" | "metricsOrigin">;
type Hint = readonly [remark: string, command: string];

export interface TryOptions {
  readonly data: string;
  readonly folder: string | undefined;
  readonly prefix: string;
  /** A file that the pipeline accepts; null if there is none beside it. */
  readonly sample: string | null;
  readonly region: string;
  /** Time of the sample event. */
  readonly now: EpochMs;
  /** How the pipeline reads own messages; null if it reads envelopes or objects. */
  readonly own: Pipeline["source"]["own"];
  readonly pipeline: string;
}

const AWS = "aws --endpoint-url $AWS_ENDPOINT_URL"; // The AWS CLI reads the variable since 2.13.

export function whatToTry(started: Started, options: TryOptions): string[] {
  const { endpoint, names, metricsOrigin } = started;
  const { data, folder } = options;
  const own = ownCommand(process.cwd());
  const dataFlag = data === SETTINGS.data.fallback ? "" : ` --data ${data}`;
  const { sample } = options;
  const file = sample === null ? '"$FILE"' : shellQuoted(sample);
  const why = (object: string) => `${own} why ${object}${dataFlag}`;
  const hints: Hint[] = [
    ...(names.bucket === null
      ? queueHints(started, options, why)
      : fileHints(file, `s3://${names.bucket}/${options.prefix}`, why)),
    ...(folder === undefined
      ? []
      : [["drop a file into the watched folder", `cp ${file} ${shellQuoted(folder)}/`] as const]),
    ["list the dead letters", `${own} dlq list${dataFlag}`],
    ["fix the cause, then redrive them", `${own} dlq redrive${dataFlag}`],
    ["read the metrics", `curl -s ${metricsOrigin}/metrics`],
  ];
  return [
    "",
    `See it in a browser: ${endpoint}/_tidegate/console/`,
    "What to try, in another terminal (any credentials work):",
    `  export AWS_ENDPOINT_URL=${endpoint} AWS_REGION=${options.region}`,
    `  export AWS_DEFAULT_REGION=${options.region}`, // Version 1 of the AWS CLI reads this one.
    "  export AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any",
    ...(hints.some(([, command]) => command.includes("$FILE"))
      ? [
          `  FILE=${names.bucket === null ? "message" : "orders.csv"}  # write the path of a file of yours`,
        ]
      : []),
    ...hints.flatMap(([remark, command]) => [`  # ${remark}`, `  ${command}`]),
    "",
  ];
}

function fileHints(file: string, base: string, why: (object: string) => string): Hint[] {
  return [
    ["put a file, then put it again: nothing changes", `${AWS} s3 cp ${file} ${base}`],
    // Every reader rejects a row that is shorter than its header.
    ["put a broken one", `printf 'a,b\\n1\\n' | ${AWS} s3 cp - ${base}broken.csv`],
    ["what happened to it?", why(`${base}broken.csv`)],
  ];
}

/** The command that sends a body to the queue; `body` is one word of a shell. */
type Send = (body: string, dedupId: string) => string;

function queueHints(
  { endpoint, queueName }: Started,
  { own, pipeline, now, sample }: TryOptions,
  why: (key: string) => string,
): Hint[] {
  const fifo = queueName.endsWith(".fifo");
  const url = `${endpoint}/000000000000/${queueName}`;
  const send: Send = (body, dedupId) => {
    const ordered = fifo ? ` --message-group-id try --message-deduplication-id ${dedupId}` : "";
    return `${AWS} sqs send-message --queue-url ${url}${ordered} --message-body ${body}`;
  };
  return own === null ? messageHints(send, now) : ownHints(send, { own, pipeline, sample }, why);
}

/** A body that the pipeline's key and schema accept, or a file that the user has to write. */
function ownHints(
  send: Send,
  { own, pipeline, sample: file }: Pick<TryOptions, "pipeline" | "sample"> & OwnOption,
  why: (key: string) => string,
): Hint[] {
  const sample = sampleBody(pipeline, own);
  const hints: Hint[] =
    sample === null
      ? [["send a message of yours", send(fileWord(file), "first")]]
      : [
          [
            own.key === "MessageId"
              ? "send a message (put your own body into it)"
              : "send a message (put your own body into it), then send it again: nothing changes",
            send(`'${sample.text}'`, "first"),
          ],
        ];
  const key = sample?.key ?? null;
  if (key !== null) hints.push(["what happened to it?", why(shellQuoted(key))]);
  if (isUnusable(pipeline, own, BROKEN)) {
    hints.push(["send a broken message", send(`'${BROKEN}'`, "broken")]);
  }
  return hints;
}

interface OwnOption {
  readonly own: NonNullable<TryOptions["own"]>;
}

/** The AWS CLI reads the body from the file. */
function fileWord(file: string | null): string {
  return file === null ? '"file://$FILE"' : shellQuoted(`file://${file}`);
}

const BROKEN = "not a message";

/** An envelope, which the pipeline accepts, and a body that it dead-letters. */
function messageHints(send: Send, now: EpochMs): Hint[] {
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
            send(`'${sample.value.body}'`, sample.value.dedupId),
          ],
        ]
      : [];
  const broken = `'{"text":"not an envelope"}'`;
  return [...valid, ["send a broken message", send(broken, "broken")]];
}

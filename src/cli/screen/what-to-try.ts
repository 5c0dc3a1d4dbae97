// What to try: commands for whoever has just started `tidegate dev` and has a second terminal.

import { SETTINGS } from "../../run/config.ts";
import type { RunningDev } from "../../run/dev/start-dev.ts";
import { ownCommand } from "../own-command.ts";

type Started = Pick<RunningDev, "endpoint" | "names" | "queueName" | "metricsOrigin">;

export function whatToTry(
  { endpoint, names, queueName, metricsOrigin }: Started,
  at: { readonly data: string; readonly folder: string | undefined; readonly prefix: string },
): string[] {
  const { data, folder, prefix } = at;
  const own = ownCommand(process.cwd());
  const where = data === SETTINGS.data.fallback ? "" : ` --data ${data}`;
  const base = `s3://${names.bucket}/${prefix}`;
  const aws = "aws --endpoint-url $AWS_ENDPOINT_URL"; // AWS CLI reads it by itself from 2.13 on.
  const files: [remark: string, command: string][] = [
    ["put a file, then put it again: nothing changes", `${aws} s3 cp FILE ${base}`],
    // A row that is shorter than its header is refused, whatever the pipeline makes of rows.
    ["put a broken one", `printf 'a,b\\n1\\n' | ${aws} s3 cp - ${base}broken.csv`],
    ["what became of it?", `${own} why ${base}broken.csv${where}`],
  ];
  const url = `${endpoint}/000000000000/${queueName}`;
  const messages: [remark: string, command: string][] = [
    ["send a message", `${aws} sqs send-message --queue-url ${url} --message-body BODY`],
  ];
  const commands = [
    ...(names.bucket === null ? messages : files),
    ...(folder === undefined
      ? []
      : [["drop a file into the watched folder", `cp FILE ${folder}/`]]),
    ["look at the dead letters", `${own} dlq list${where}`],
    ["mend the cause, then have them tried again", `${own} dlq redrive${where}`],
    ["the numbers", `curl -s ${metricsOrigin}/metrics`],
  ];
  return [
    "",
    "What to try, in another terminal (any credentials will do):",
    `  export AWS_ENDPOINT_URL=${endpoint} AWS_REGION=us-east-1`,
    "  export AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any",
    ...commands.flatMap(([remark, command]) => [`  # ${remark}`, `  ${command}`]),
    "",
  ];
}

// What to try: commands for whoever has just started `tidegate dev` and has a second terminal.

import type { RunningDev } from "../run/start-dev.ts";

/** In the repository the command is run from its sources. */
const COMMAND = import.meta.url.endsWith(".ts") ? "npm run -s tidegate --" : "npx tidegate";

export function whatToTry(
  { endpoint, names, queueName, metricsOrigin }: RunningDev,
  at: { readonly data: string; readonly folder: string | undefined; readonly prefix: string },
): string[] {
  const { data, folder, prefix } = at;
  const where = data === ".tidegate" ? "" : ` --data ${data}`;
  const lines = [
    "",
    "What to try, in another terminal (any credentials will do):",
    `  export AWS_ENDPOINT_URL=${endpoint} AWS_REGION=us-east-1`,
    "  export AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any",
  ];
  if (names.bucket === null) {
    lines.push(`  aws sqs send-message --queue-url ${endpoint}/000000000000/${queueName} …`);
  } else {
    const base = `s3://${names.bucket}/${prefix}`;
    lines.push(
      `  aws s3 cp FILE ${base}          # put a file; put it again, and nothing changes`,
      ...(folder === undefined
        ? []
        : [`  cp FILE ${folder}/          # or drop one into the watched folder`]),
      `  echo broken | aws s3 cp - ${base}broken.csv          # put a broken one`,
      `  ${COMMAND} why ${base}broken.csv${where}          # what became of it?`,
    );
  }
  lines.push(
    `  ${COMMAND} dlq list${where}          # the dead letters; mend the cause, then redrive them`,
    `  curl -s ${metricsOrigin}/metrics`,
    "",
  );
  return aligned(lines);
}

/** Remarks begin in one column, as far as the commands let them. */
function aligned(lines: readonly string[]): string[] {
  const REMARK = / {10}# /;
  const lengths = lines.map((line) => (REMARK.test(line) ? line.search(REMARK) : 0));
  const width = Math.max(...lengths);
  return lines.map((line) => {
    const [left = "", remark] = line.split(REMARK);
    return remark === undefined ? line : `${left.padEnd(width)}   # ${remark}`;
  });
}

// Bad input for `tidegate infra` and `infra diff`, as their users meet it: one clear sentence, and
// nothing is written. The titles are the rows of docs/reference/bad-input.md.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startCloud } from "../../../src/cloud/start-cloud.ts";
import { endOf, startCommand } from "../../support/command-process.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("bad-infra");
const LONG = "n".repeat(60);

function pipelineFile(name: string, fields: string): string {
  const file = join(folder, `${name}.ts`);
  const text = `import { pipeline } from "tidegate";
export default pipeline({ ${fields}, sink() {}, handler: async () => {} });\n`;
  writeFileSync(file, text);
  return file;
}

const orders = pipelineFile("orders", 'name: "orders", source: { bucket: "acme-orders" }');

/** Runs the command with an output folder of its own, which must not be created. */
async function refused(file: string, ...flags: string[]): Promise<string> {
  const target = join(folder, "never");
  const { code, err } = await endOf(startCommand(["infra", file, "--out", target, ...flags]));
  expect([code, existsSync(target)]).toEqual([2, false]);
  return err.split("\n")[0] ?? "";
}

test("a pipeline without a name: rejected with the field", async () => {
  const file = pipelineFile("nameless", 'source: { bucket: "acme-orders" }');
  expect(await refused(file)).toMatch(/name/);
});

test("a name that is too long for AWS: rejected with the length, the limit and the fix", async () => {
  const file = pipelineFile("long", `name: "${LONG}", source: { bucket: "acme-orders" }`);
  expect(await refused(file)).toContain(
    `the role "${LONG}-consumer" has 69 characters, and AWS allows 64; choose a`,
  );
});

test("a bucket name that AWS does not accept: rejected with the allowed characters", async () => {
  const file = pipelineFile("upper", 'name: "orders", source: { bucket: "Orders_2" }');
  expect(await refused(file)).toContain('the bucket "Orders_2" is not a name that AWS accepts');
});

test("a FIFO queue for the events of a bucket: rejected, because S3 cannot notify it", async () => {
  const source = '{ bucket: "acme-orders", queue: "orders.fifo" }';
  const file = pipelineFile("fifo", `name: "orders", source: ${source}`);
  expect(await refused(file)).toContain("S3 cannot notify a FIFO queue or topic");
});

test("a prefix with a wildcard: rejected, because IAM would read it as a pattern", async () => {
  const source = '{ bucket: "acme-orders", prefix: "in/*/" }';
  const file = pipelineFile("star", `name: "orders", source: ${source}`);
  expect(await refused(file)).toContain("IAM reads *, ? and $ as patterns");
});

test("--listing with PostgreSQL: rejected, because PostgreSQL always lists", async () => {
  const flags = ["--ledger", "postgres", "--listing"];
  expect(await refused(orders, ...flags)).toContain("--listing is for a DynamoDB ledger");
});

test("--backfill for messages: rejected, because only a bucket can be listed", async () => {
  const file = pipelineFile("jobs", 'name: "jobs", source: { queue: "jobs" }');
  expect(await refused(file, "--backfill")).toContain("this pipeline reads messages");
});

test("--outputs that are not in S3, or that the pipeline reads: rejected with the URL and what to write instead", async () => {
  expect(await refused(orders, "--outputs", "out")).toContain(
    '--outputs has "out"; write s3://bucket/prefix',
  );
  expect(await refused(orders, "--outputs", "s3://acme-orders/in/x")).toContain(
    "which the pipeline reads; choose another prefix or bucket",
  );
});

test("--dispatch on Lambda: rejected, because a function cannot wait for tasks", async () => {
  const flags = ["--compute", "lambda", "--dispatch"];
  expect(await refused(orders, ...flags)).toContain("dispatch needs a process that waits");
});

test("a file that was edited by hand: named, and nothing is written without --overwrite", async () => {
  const target = join(folder, "edited");
  const words = ["infra", orders, "--out", target];
  expect(await endOf(startCommand(words))).toMatchObject({ code: 0 });
  const main = join(target, "main.tf");
  const generated = readFileSync(main, "utf8");
  const edited = generated.replace("max_receive_count          = 25", "max_receive_count = 50");
  writeFileSync(main, edited);
  const second = await endOf(startCommand([...words, "--kms"]));
  expect(second).toMatchObject({
    code: 1,
    out: "",
    err: expect.stringContaining("Wrote nothing, because files were edited by hand: main.tf"),
  });
  expect(readFileSync(main, "utf8")).toBe(edited);
  expect(existsSync(join(target, "modules/key"))).toBe(false);
  const forced = await endOf(startCommand([...words, "--overwrite"]));
  expect(forced.err).toContain("Replaced files that were edited by hand: main.tf");
  expect(readFileSync(main, "utf8")).toBe(generated);
});

test("a damaged manifest: rejected, and no file is changed", async () => {
  const target = join(folder, "damaged");
  const words = ["infra", orders, "--out", target];
  await endOf(startCommand(words));
  writeFileSync(join(target, "tidegate-infra.json"), "{");
  const { code, err } = await endOf(startCommand(words));
  expect([code, err]).toEqual([
    2,
    expect.stringContaining("is not a manifest of `tidegate infra`"),
  ]);
});

test("an endpoint that does not answer: the comparison fails with the reason", async () => {
  const words = ["infra", "diff", orders, "--endpoint", "http://127.0.0.1:9"];
  const { code, err } = await endOf(startCommand(words, { env: { AWS_MAX_ATTEMPTS: "1" } }));
  expect([code, err]).toEqual([1, expect.stringContaining("cannot read the queue orders-events")]);
});

/** `infra diff --account` of a file: exit code and first line of stderr. */
async function compared(file: string, flags: string[], env: Record<string, string> = {}) {
  const words = ["infra", "diff", file, "--account", ...flags];
  const { code, err } = await endOf(startCommand(words, { env }));
  return [code, err.split("\n")[0]];
}

test("no credentials, or no region: exit code 2, with the variables to set", async () => {
  const nothing = join(folder, "nothing");
  const env = {
    AWS_ACCESS_KEY_ID: "",
    AWS_SECRET_ACCESS_KEY: "",
    AWS_PROFILE: "",
    AWS_REGION: "",
    AWS_CONFIG_FILE: nothing,
    AWS_SHARED_CREDENTIALS_FILE: nothing,
    AWS_EC2_METADATA_DISABLED: "true",
  };
  expect(await compared(orders, ["--region", "us-east-1"], env)).toEqual([
    2,
    "the AWS SDK finds no credentials (Could not load credentials from any providers); set " +
      "AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
  ]);
  expect(await compared(orders, [], env)).toEqual([
    2,
    "the AWS SDK finds no region; set AWS_REGION, or name a region",
  ]);
});

test("credentials of another account: exit code 2, with both accounts", async () => {
  const url = "https://sqs.us-east-1.amazonaws.com/111122223333/jobs";
  const file = pipelineFile("elsewhere", `name: "jobs", source: { queue: "${url}" }`);
  await using cloud = await startCloud({ memory: true, setup: { queues: [{ name: "jobs" }] } });
  expect(await compared(file, ["--endpoint", cloud.endpoint])).toEqual([
    2,
    "the credentials are of account 000000000000, but the pipeline's queue is in account " +
      "111122223333; use credentials of that account",
  ]);
});

test("a right to read that is missing: exit code 1, with what could not be read", async () => {
  const answer = { __type: "AccessDenied", message: "not authorised: sqs:GetQueueUrl" };
  const server = createServer((_, reply) => reply.writeHead(403).end(JSON.stringify(answer)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const [code, line] = await compared(orders, ["--endpoint", `http://127.0.0.1:${port}`]);
  server.close();
  expect([code, line]).toEqual([
    1,
    "cannot read the queue orders-events: AccessDenied: not authorised: sqs:GetQueueUrl",
  ]);
});

test("an account without the queue: exit code 2, with what to create first", async () => {
  await using cloud = await startCloud({ memory: true });
  expect(await compared(orders, ["--endpoint", cloud.endpoint])).toEqual([
    2,
    "--account needs a queue that exists, to know the account; create it first",
  ]);
});

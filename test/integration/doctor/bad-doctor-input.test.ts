// Bad input for the doctor: each title is a row of docs/reference/bad-input.md.

import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCli } from "../../../src/cli/run-cli.ts";
import { startCloud } from "../../../src/cloud/start-cloud.ts";
import { examine } from "../../../src/operate/doctor.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("bad-doctor-input");

/** The exit code, and the first line of what the command says. */
async function doctor(...words: readonly string[]) {
  const notes: string[] = [];
  const code = await runCli(["doctor", ...words], {
    terminal: false,
    line: () => {},
    note: (text) => void notes.push(text),
  });
  return { code, said: notes.join("\n").split("\n")[0] };
}

function folderOf(name: string, files: Readonly<Record<string, string>>): string {
  const path = join(folder, name);
  mkdirSync(path);
  for (const [file, text] of Object.entries(files)) writeFileSync(join(path, file), text);
  return path;
}

test("a Terraform folder that does not parse: exit code 2, with file, line and problem", async () => {
  const path = folderOf("unparsed", {
    "main.tf": 'resource "aws_sqs_queue" "q" {\n  name = \n}\n',
  });
  const { code, said } = await doctor("--terraform", path);
  expect(code).toBe(2);
  expect(said).toMatch(/unparsed\/main\.tf:2 is not valid Terraform: an expression is expected$/);
});

test("a Terraform folder that does not exist, or has no files: exit code 2, with its name", async () => {
  expect(await doctor("--terraform", join(folder, "nowhere"))).toEqual({
    code: 2,
    said: `the folder ${join(folder, "nowhere")} does not exist`,
  });
  const { code, said } = await doctor("--terraform", folderOf("bare", { "a.txt": "" }));
  expect(code).toBe(2);
  expect(said).toMatch(/bare has no Terraform files \(\*\.tf\)$/);
});

test("a queue in another account: exit code 1, with the queue and the account", async () => {
  await using cloud = await startCloud({ setup: { queues: [{ name: "orders" }] } });
  const arn = "arn:aws:sqs:us-east-1:999999999999:orders";
  const { code, said } = await doctor("--queue", arn, "--endpoint", cloud.endpoint);
  expect(code).toBe(1);
  expect(said).toMatch(/^cannot read the queue arn:.*:orders of account 999999999999: /);
});

test("a queue that does not exist: exit code 1, with its name", async () => {
  await using cloud = await startCloud({});
  const { code, said } = await doctor("--queue", "nowhere", "--endpoint", cloud.endpoint);
  expect(code).toBe(1);
  expect(said).toContain("nowhere");
});

test("an endpoint that does not answer: exit code 1, with the reason", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  const { code, said } = await doctor("--queue", "q", "--endpoint", `http://127.0.0.1:${port}`);
  expect(code).toBe(1);
  expect(said).toMatch(/q.*(ECONNREFUSED|did not answer|no response)/);
});

test("an endpoint that is not a URL: exit code 2, with an example", async () => {
  const { code, said } = await doctor("--queue", "q", "--endpoint", "localhost:4566");
  expect(code).toBe(2);
  expect(said).toContain("is not an endpoint; use a URL such as");
});

test("no pipeline, queue, folder or code: exit code 2, with what to name", async () => {
  const { code, said } = await doctor();
  expect(code).toBe(2);
  expect(said).toBe("nothing to check: name a pipeline file, a queue, Terraform or code");
});

test("a pipeline file that does not exist: exit code 2, with its name", async () => {
  const { code, said } = await doctor(join(folder, "none.ts"));
  expect(code).toBe(2);
  expect(said).toMatch(/none\.ts does not exist$/);
});

test("code that does not parse: noted with the reason, and all other code is checked", async () => {
  const path = folderOf("code", {
    "broken.ts": "// sqs\nconst = ;",
    "url.ts": 'export const url = "https://sqs.eu-west-1.amazonaws.com/123456789012/q";',
  });
  const { code, said } = await doctor("--code", path);
  expect(code).toBe(0);
  expect(said).toMatch(/^warning: not read: .*broken\.ts does not parse: /);
});

test("a template whose aliases contain themselves or grow without end: counted with the reason, and the others are checked", async () => {
  const queue = "Resources: { Q: { Type: AWS::SQS::Queue } }";
  const grows = [..."bcdefghij"].map((name, at) => {
    const before = "abcdefghi"[at];
    return `${name}: &${name} [${Array(9).fill(`*${before}`).join(", ")}]`;
  });
  const wide = `[${Array(2_000).fill("1").join(", ")}]`;
  const path = folderOf("aliases", {
    "cycle.yaml": `# AWS::SQS\na: &x [*x]`,
    "deep.yaml": `# AWS::SQS\na: ${"[".repeat(20_000)}${"]".repeat(20_000)}`,
    "grows.yaml": ["# AWS::SQS", "a: &a [1]", ...grows].join("\n"),
    "good.yaml": queue,
    "wide.yaml": `# AWS::SQS\na: &a ${wide}\nb: [${Array(60).fill("*a").join(", ")}]`,
  });
  const { unread, checked } = await examine({ code: path });
  expect(checked).toEqual([`code in ${path} (files: 0, templates: 1)`]);
  expect(unread.map(({ reason }) => reason)).toEqual(Array(4).fill("unparsed"));
  const [cycle, deep, growing, large] = unread.map(({ text }) => text);
  expect(cycle).toMatch(/cycle\.yaml does not parse: the alias \*x contains itself$/);
  expect(deep).toMatch(/deep\.yaml does not parse: /);
  expect(growing).toMatch(/grows\.yaml does not parse: it has more than 1000 aliases$/);
  expect(large).toMatch(/wide\.yaml .*: its aliases stand for more than 100000 values$/);
});

test("a code folder that does not exist, or is a file: exit code 2, with its name", async () => {
  const nowhere = join(folder, "nowhere");
  const said = `the folder ${nowhere} does not exist`;
  expect(await doctor("--code", nowhere)).toEqual({ code: 2, said });
  const file = join(folderOf("file", { "a.ts": "" }), "a.ts");
  expect((await doctor("--code", file)).said).toBe(`${file} is not a folder`);
});

test("a Terraform file that does not parse beside others: counted, and the others are checked", async () => {
  const path = folderOf("half", {
    "main.tf": 'resource "aws_sqs_queue" "alone" {}\n',
    "other.tf": 'resource "aws_sqs_queue" {\n',
  });
  const { code, said } = await doctor("--terraform", path);
  expect(code).toBe(1); // The queue has no dead-letter queue.
  expect(said).toMatch(/^warning: not read: .*half\/other\.tf:\d+ is not valid Terraform: /);
});

test("a rule that does not exist: exit code 2, with the nearest name", async () => {
  const { code, said } = await doctor("explain", "TGD0O1");
  expect(code).toBe(2);
  expect(said).toMatch(/^unknown rule "TGD0O1"; did you mean TGD0/);
});

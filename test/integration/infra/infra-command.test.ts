// `tidegate infra` and `infra diff` as their users meet them.

import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startCloud } from "../../../src/cloud/start-cloud.ts";
import { endOf, startCommand } from "../../support/command-process.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("infra-command");
const orders = join(folder, "orders.ts");
writeFileSync(
  orders,
  `import { pipeline } from "tidegate";
export default pipeline({
  name: "orders",
  source: { bucket: "acme-orders", prefix: "in/" },
  sink() {},
  handler: async () => {},
});\n`,
);
const run = (...words: string[]) => endOf(startCommand(words));

test("a second run writes nothing, and another plan removes what it no longer needs", async () => {
  const target = join(folder, "infra");
  const words = ["infra", orders, "--out", target];
  const first = await run(...words);
  expect(first.out).toContain(`wrote ${target}/main.tf\n`);
  expect(readdirSync(target).toSorted()).toEqual(
    ["main.tf", "modules", "outputs.tf", "tidegate-infra.json", "variables.tf"].toSorted(),
  );
  expect(await run(...words)).toMatchObject({ code: 0, out: expect.stringMatching(/^\d+ files/) });
  writeFileSync(join(target, "own.tf"), "# Mine.\n");
  const third = await run(...words, "--via", "queue");
  expect(third.out).toContain(`removed ${target}/modules/topic/main.tf`);
  expect(existsSync(join(target, "own.tf"))).toBe(true);
});

test("--json prints plan, files and the policies of all roles", async () => {
  const { out } = await run("infra", orders, "--out", join(folder, "json"), "--json");
  const { plan, written, policies } = JSON.parse(out);
  expect(plan).toMatchObject({ queue: "orders-events", maxReceiveCount: 25 });
  expect(written).toContain("main.tf");
  expect(Object.keys(policies)).toEqual(["consumer", "producer", "operator"]);
  expect(JSON.stringify(policies)).toContain(
    "arn:aws:sqs:$" + "{region}:$" + "{account}:orders-events",
  );
});

test("infra diff reports what is missing and what differs, and exits with 1", async () => {
  const queues = [{ name: "orders-dead-letters" }, { name: "orders-events" }];
  await using cloud = await startCloud({ memory: true, setup: { queues } });
  const { code, out, err } = await run("infra", "diff", orders, "--endpoint", cloud.endpoint);
  expect(code).toBe(1);
  const lines = out.trimEnd().split("\n");
  expect(lines).toEqual(
    expect.arrayContaining([
      "queue orders-events: VisibilityTimeout is 30, the pipeline expects 60",
      "queue orders-events: dead-letter queue is missing, the pipeline expects orders-dead-letters",
      "queue orders-events: plain HTTP is possible, the pipeline expects denied",
      "topic orders-objects does not exist",
      "bucket acme-orders does not exist",
    ]),
  );
  expect(err).toContain("Tables were not compared");
});

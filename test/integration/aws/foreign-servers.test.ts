// Foreign servers: `tidegate run` on other projects' implementations of AWS, as stand-ins for it.
// What they cannot do is skipped by name (gaps.ts).

import { join } from "node:path";
import { SQS } from "@aws-sdk/client-sqs";
import { afterAll, describe, expect, test } from "vitest";
import { useCommands } from "../../support/command-process.ts";
import { createForeignProxy } from "../../support/foreign/foreign-proxy.ts";
import { useForeignServer } from "../../support/foreign/foreign-servers.ts";
import { tellStory } from "../../support/foreign/foreign-story.ts";
import {
  type ForeignWorld,
  openElasticMqWorld,
  openMotoWorld,
} from "../../support/foreign/foreign-worlds.ts";
import {
  ATOMIC_WRITES,
  checkUnlessGap,
  GAPS,
  VERSIONS_IN_ORDER,
} from "../../support/foreign/gaps.ts";
import { createCheckedQueues, QUEUE_CHECKS } from "../../support/foreign/queue-checks.ts";
import { needsFullSize } from "../../support/full-size.ts";

const region = "us-east-1";
const credentials = { accessKeyId: "any", secretAccessKey: "any" };
const commands = useCommands("foreign");

const elasticmq = await useForeignServer("ElasticMQ");
const moto = await useForeignServer("moto");
const servers = { ElasticMQ: elasticmq, moto } as const;

const STORY = "run loses nothing and doubles nothing, through kills, duplicates and a redrive";

/** The story on a SQLite ledger, which has the tables as well. */
function onSqlite(world: ForeignWorld, ordered: boolean): Promise<void> {
  const tables = join(commands.folder, "ledger.db");
  return tellStory({ commands, world, tables, ledger: `sqlite:${tables}`, ordered });
}

describe.skipIf(elasticmq === null)("a queue of ElasticMQ, objects of the embedded cloud", () => {
  test(STORY, async () => {
    await using world = await openElasticMqWorld(elasticmq ?? "");
    await onSqlite(world, true);
  });
});

describe.skipIf(moto === null)("everything on moto", () => {
  test(`${STORY}, with a topic and a SQLite ledger`, async (context) => {
    needsFullSize(context);
    await using world = await openMotoWorld(moto ?? "", "topic");
    await onSqlite(world, false);
  });

  test(`${STORY}, without a topic and with a DynamoDB ledger`, async (context) => {
    needsFullSize(context);
    await using world = await openMotoWorld(moto ?? "", "queue");
    await using table = await createForeignProxy(moto ?? "", { oneAtATime: true }); // ATOMIC_WRITES
    const tables = join(commands.folder, "tables.db");
    const ledger = `dynamodb://foreign?region=${region}&endpoint=${table.endpoint}`;
    await tellStory({ commands, world, tables, ledger, ordered: false });
  });

  test(VERSIONS_IN_ORDER, async (context) => {
    await using world = await openMotoWorld(moto ?? "", "queue");
    const check = async () => {
      await world.put("observations/b.jsonl", "1");
      expect(world.events().join("")).toContain('"sequencer"');
    };
    await checkUnlessGap("moto", VERSIONS_IN_ORDER, check, context);
  });

  // Not tried: whether writes of the same time get lost is a matter of luck.
  test(ATOMIC_WRITES, (context) => {
    const gap = GAPS.find(({ guarantee }) => guarantee === ATOMIC_WRITES);
    context.skip(`moto cannot do it: ${gap?.reason}`);
  });
});

for (const server of ["ElasticMQ", "moto"] as const) {
  const endpoint = servers[server];
  describe.skipIf(endpoint === null)(`a queue of ${server}`, () => {
    const sqs = new SQS({ endpoint: endpoint ?? "http://127.0.0.1:1", region, credentials });
    afterAll(() => sqs.destroy());

    for (const [guarantee, check] of Object.entries(QUEUE_CHECKS)) {
      test(guarantee, async (context) => {
        const queues = await createCheckedQueues(sqs);
        await checkUnlessGap(server, guarantee, () => check(queues), context);
      });
    }
  });
}

test("every gap names a guarantee that is checked", () => {
  const checked = new Set([...Object.keys(QUEUE_CHECKS), VERSIONS_IN_ORDER, ATOMIC_WRITES]);
  expect(GAPS.filter(({ guarantee }) => !checked.has(guarantee))).toEqual([]);
});

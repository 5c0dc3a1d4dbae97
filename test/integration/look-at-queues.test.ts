// Looks at queues of an embedded cloud in another process, as `tidegate run` has them.

import { expect, test } from "vitest";
import { startCloud } from "../../src/cloud/start-cloud.ts";
import { openAwsEnvironment } from "../../src/run/open/aws-environment.ts";

test("a queue with more messages than a report decodes is only counted", async () => {
  await using cloud = await startCloud({ memory: true, setup: { queues: [{ name: "orders" }] } });
  const environment = await openAwsEnvironment({
    queue: "orders",
    server: { endpoint: cloud.endpoint, cloud: null },
  });
  try {
    const message = { body: "{}", attributes: {}, groupId: null, dedupId: null };
    await environment.queue.sendBatch([message, message]);
    const kinds = async (max?: number) => (await environment.looks(max)).map(({ kind }) => kind);
    expect(await kinds()).toEqual(["exact"]);
    expect(await kinds(2)).toEqual(["exact"]);
    const looks = await environment.looks(1);
    expect(looks).toMatchObject([{ kind: "counted", name: "orders", isDeadLetters: false }]);
    const [look] = looks;
    expect(look?.kind === "counted" && (await look.counts())).toMatchObject({ visible: 2 });
  } finally {
    await environment.close();
  }
});

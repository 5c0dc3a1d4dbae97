// Replays of a pipeline in an embedded cloud of this process, on SQLite.

import { expect, test } from "vitest";
import { ordersPipeline, startReplayWorld } from "../../support/replay-world.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("replay");

test("a replay fills a shadow, shows the differences, and is promoted as a whole", async () => {
  await using world = await startReplayWorld(folder, "promote");
  await world.put("in/a.csv", { a1: 1, a2: 2 });
  await world.put("in/b.csv", { b1: 3 });
  expect(world.rows()).toEqual(["a1=2", "a2=4", "b1=6"]);

  await using replays = await world.replays(ordersPipeline(1));
  const request = world.request();
  const status = await replays.start(request);
  expect(status).toMatchObject({ state: "ready", outcome: { how: "complete", committed: 2 } });
  expect(world.rows()).toEqual(["a1=2", "a2=4", "b1=6"]);
  const { run } = status.entry;
  const [difference] = await replays.diff(run, 2);
  expect(difference).toMatchObject({
    table: "orders",
    added: 0,
    removed: 0,
    changed: 3,
    keptObjects: 0,
    samples: [
      { kind: "changed", key: { id: "a1" }, live: { amount: 2 }, replayed: { amount: 1 } },
      { kind: "changed", key: { id: "a2" } },
    ],
  });

  await world.put("in/a.csv", { a1: 10 }); // A live write meanwhile.
  expect((await replays.diff(run, 0))[0]).toMatchObject({ changed: 1, keptObjects: 1 });
  expect(await replays.promote(run)).toMatchObject({ appliedObjects: 1, keptObjects: 1 });
  expect(world.rows()).toEqual(["a1=20", "b1=3"]);
  await expect(replays.promote(run)).rejects.toThrow(/was promoted before/);

  expect((await replays.start(request)).state).toBe("promoted");
  expect((await replays.list()).map(({ entry }) => entry.run)).toEqual([run]);
  await replays.drop(run);
  expect(await replays.list()).toEqual([]);
  await world.put("in/b.csv", { b1: 5 });
  expect(world.rows()).toEqual(["a1=20", "b1=10"]);
});

import pg from "pg";
import { afterAll, describe, expect, test } from "vitest";
import { epochMs } from "../../src/core/units.ts";
import { createPostgresOutbox } from "../../src/stores/postgres/outbox.ts";
import { tellMissing } from "../requires.ts";
import { createManualClock } from "./manual-clock.ts";
import { describeOutbox } from "./outbox.ts";
import { startPostgres } from "./postgres-server.ts";

const server = await startPostgres({ fsync: "off" });
if ("missing" in server) tellMissing("PostgreSQL", server.missing);
const url = "url" in server ? server.url : "";
afterAll(() => {
  if ("url" in server) server.stop();
});
const clock = createManualClock(epochMs(1_700_000_000_000));
let schemas = 0;

/** A URL whose tables are its own, in a schema of that name. */
async function freshUrl(...statements: string[]): Promise<string> {
  schemas += 1;
  const own = `${url}?options=-csearch_path%3Do${schemas}`;
  for (const [at, sql] of [`CREATE SCHEMA o${schemas}`, ...statements].entries()) {
    const client = new pg.Client(at === 0 ? url : own);
    await client.connect();
    await client.query(sql);
    await client.end();
  }
  return own;
}

describe.skipIf("missing" in server)("PostgreSQL", () => {
  describeOutbox({
    name: "PostgreSQL",
    async open(on) {
      const own = await freshUrl();
      const again = () => createPostgresOutbox({ clock: on }, { url: own });
      return { outbox: await again(), again };
    },
  });

  test("a database of a newer schema is refused", async () => {
    const own = await freshUrl(
      "CREATE TABLE tidegate_schema (part text PRIMARY KEY, version integer)",
      "INSERT INTO tidegate_schema VALUES ('outbox', 99)",
    );
    const opening = createPostgresOutbox({ clock }, { url: own });
    await expect(opening).rejects.toMatchObject({ code: "TG_STORE_NEWER" });
  });

  test("a database that is down gives one clear error", async () => {
    const down = createPostgresOutbox({ clock }, { url: "postgres://127.0.0.1:1/none" });
    await expect(down).rejects.toMatchObject({ code: "TG_OUTBOX_UNAVAILABLE" });
  });
});

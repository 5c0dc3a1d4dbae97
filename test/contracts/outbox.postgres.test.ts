import { describe, expect, test } from "vitest";
import { epochMs } from "../../src/core/units.ts";
import { createPostgresOutbox } from "../../src/stores/postgres/outbox.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { queryPostgres, usePostgres } from "../support/stores/database-servers.ts";
import { describeOutbox } from "./outbox.ts";

const { available, freshUrl } = await usePostgres();
const clock = createManualClock(epochMs(1_700_000_000_000));

describe.skipIf(!available)("PostgreSQL", () => {
  describeOutbox({
    name: "PostgreSQL",
    async open(on) {
      const own = await freshUrl();
      const again = () => createPostgresOutbox({ clock: on }, { url: own });
      return { store: await again(), again };
    },
  });

  test("a database with a newer schema is rejected", async () => {
    const own = await freshUrl();
    await queryPostgres(
      own,
      `CREATE TABLE tidegate_schema (part text PRIMARY KEY, version integer);
      INSERT INTO tidegate_schema VALUES ('outbox', 99)`,
    );
    const opening = createPostgresOutbox({ clock }, { url: own });
    await expect(opening).rejects.toMatchObject({ code: "TG_STORE_NEWER" });
  });

  test("a database that is down gives one clear error", async () => {
    const down = createPostgresOutbox({ clock }, { url: "postgres://127.0.0.1:1/none" });
    await expect(down).rejects.toMatchObject({ code: "TG_OUTBOX_UNAVAILABLE" });
  });
});

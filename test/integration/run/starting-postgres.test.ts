// `tidegate run` with a real PostgreSQL as its ledger: one that starts later, and mistakes in its URL.

import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type Cloud, startCloud } from "../../../src/api/cloud.ts";
import { endOf, untilHolds, useCommands } from "../../support/command-process.ts";
import { requirePart } from "../../support/requires.ts";
import { type PostgresServer, startPostgres } from "../../support/stores/postgres-server.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

requirePart("postgres");
const folder = useTemporaryFolder("starting-postgres");
const commands = useCommands("starting-postgres");
const PIPELINE = `
import { pipeline } from "tidegate";
export default pipeline({ name: "orders", source: { queue: "orders" }, handler() {} });
`;
/** The role "guarded" needs its password. */
const ACCESS = `
host all guarded 127.0.0.1/32 scram-sha-256
host all all 127.0.0.1/32 trust
`;

let server: PostgresServer;
let cloud: Cloud;
beforeAll(async () => {
  chmodSync(folder, 0o755); // For the user of the server.
  writeFileSync(join(folder, "access"), ACCESS);
  const started = await startPostgres({ hba_file: join(folder, "access") });
  if ("missing" in started) throw new Error(started.missing);
  server = started;
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  await client.query("CREATE ROLE guarded LOGIN PASSWORD 'right'");
  await client.end();
  cloud = await startCloud({ memory: true, setup: { queues: [{ name: "orders" }] } });
});
afterAll(async () => {
  await cloud.close();
  server.stop();
});
beforeEach(() => writeFileSync(join(commands.folder, "pipeline.ts"), PIPELINE));

function run(ledger: string) {
  const words = ["run", "pipeline.ts", "--ledger", ledger, "--metrics-port", "0"];
  return commands.start(words, { TIDEGATE_ENDPOINT: cloud.endpoint });
}

test("run waits for a PostgreSQL that is down, and starts once it is up", async () => {
  server.halt();
  const waiting = run(server.url);
  const printed = () => waiting.printed.out + waiting.printed.err;
  await untilHolds(waiting, () =>
    /the ledger's database does not answer, retrying/.test(printed()),
  );
  server.start();
  await untilHolds(waiting, () => printed().includes("tidegate runs orders"));
  waiting.child.kill("SIGTERM");
  expect((await endOf(waiting)).code).toBe(0);
});

test.each([
  [
    "a wrong password",
    (url: string) => url.replace("tidegate@", "guarded:wrong@"),
    /password authentication failed for user "guarded"$/m,
  ],
  [
    "a database that does not exist",
    (url: string) => url.replace("/ledger", "/other"),
    /database "other" does not exist$/m,
  ],
  [
    "an unknown host",
    (url: string) => url.replace("127.0.0.1", "db.invalid"),
    /ENOTFOUND db\.invalid$/m,
  ],
])("run ends at once, with one sentence, for %s", async (_, mistaken, sentence) => {
  const { code, out, err } = await endOf(run(mistaken(server.url)));
  expect({ code, out }).toEqual({ code: 1, out: "" });
  expect(err).toMatch(/^the ledger's database cannot be used: /);
  expect(err).toMatch(sentence);
  expect(err).not.toContain("retrying");
});

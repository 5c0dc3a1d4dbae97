// The downloads example, killed with SIGKILL between requests, and with replayed messages.

import { SendMessageCommand } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { decrypt, encrypt, filesOf, plainText } from "../../../examples/downloads/files.ts";
import { createDownloadsWorld, type DownloadsWorld, QUEUE } from "../../support/downloads-world.ts";
import { needsFullSize } from "../../support/full-size.ts";
import { patienceMs } from "../../support/patience.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("downloads");
const BATCH = "2026-02-28";
const FILES = filesOf(BATCH);
let world: DownloadsWorld;

beforeAll(async () => {
  world = await createDownloadsWorld(folder);
});

afterAll(() => world[Symbol.asyncDispose]());

const show = (batch = BATCH) =>
  world.tidegate(
    ...["jobs", "show", "--batch", batch, "--pipeline", "downloads", "--queue", QUEUE],
    ...["--ledger", `sqlite:${world.database}`],
  );

test("a decrypted file is the original, and changed bytes are noticed", () => {
  const bytes = encrypt("text ✓", "id");
  expect(decrypt(bytes).toString()).toBe("text ✓");
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
  expect(() => decrypt(bytes)).toThrow();
});

test(
  "every file is written once, although poller and consumer are killed and messages replayed",
  async (context) => {
    needsFullSize(context);
    for (const phase of ["before", "after"] as const) {
      await world.poll(BATCH, { request: "SendMessageBatch", phase });
    }
    expect((await show()).code).toBe(1); // Registered or not: not done.
    expect((await world.poll(BATCH)).out).toMatch(/^2026-02-28: 5 files, \d new, \d sent\n$/);
    await world.consume({ request: "download", phase: "before" });
    await world.consume({ request: "PutObject", phase: "before" });
    await world.consume({ request: "PutObject", phase: "after" });
    await world.consume({ request: "DeleteMessageBatch", phase: "before" });
    await world.consume();
    const complete = { code: 0, out: `${BATCH}: complete, 5 of 5 done\n`, err: "" };
    expect(await show()).toEqual(complete);

    const once = Object.fromEntries(
      FILES.map(({ FileID, Entity }) => [`${Entity}/${FileID}.csv`, 1]),
    );
    expect(await world.versions()).toEqual(once);
    for (const { FileID, Entity } of FILES) {
      expect(await world.read(`${Entity}/${FileID}.csv`)).toBe(plainText(FileID));
    }

    const QueueUrl = `${world.cloud.endpoint}/000000000000/${QUEUE}`;
    for (const { FileID, Entity } of FILES) {
      const MessageBody = JSON.stringify({ FileID, Entity, BatchID: "replayed" });
      const ids = {
        MessageGroupId: FileID,
        MessageDeduplicationId: `replay of ${FileID}`.replaceAll(" ", "-"),
      };
      await world.sqs.send(new SendMessageCommand({ QueueUrl, MessageBody, ...ids }));
    }
    expect((await world.poll(BATCH)).out).toBe("2026-02-28: 5 files, 0 new, 0 sent\n");
    await world.consume();
    expect(await world.versions()).toEqual(once);
    expect(await show()).toEqual(complete);
  },
  patienceMs(600_000),
);

// The commands `ledger` and `comply`, as their users meet them.

import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCli } from "../../../src/cli/run-cli.ts";
import { days, epochMs, seconds, subtractMs } from "../../../src/core/units.ts";
import { asRecordKey } from "../../../src/ledger/record-state.ts";
import { systemPorts } from "../../../src/platform/index.ts";
import type { Clock } from "../../../src/ports/clock.ts";
import { openLedger } from "../../../src/run/open/open-ledger.ts";
import { findOutbox } from "../../../src/run/open/open-outbox.ts";
import { createSqliteOutbox } from "../../../src/stores/sqlite/ledger/outbox.ts";
import { createManualClock } from "../../support/manual-clock.ts";
import { ANY_INPUT } from "../../support/stores/any-input.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("commands");

async function cli(...words: string[]) {
  const out: string[] = [];
  const err: string[] = [];
  const code = await runCli(words, {
    terminal: false,
    line: (text) => void out.push(text),
    note: (text) => void err.push(text),
  });
  return { code, out: out.join("\n"), err: err.join("\n") };
}

test("a ledger is made, checked, counted and asked by its URL", async () => {
  const url = `sqlite:${join(folder, "ledger.db")}`;
  expect(await cli("ledger", "check", "--ledger", url)).toMatchObject({ code: 2 });
  expect(await cli("ledger", "init", "--ledger", url)).toMatchObject({
    code: 0,
    out: "The sqlite ledger is ready.",
  });
  const sound = { code: 0, out: "The ledger is sound.", err: "" };
  expect(await cli("ledger", "check", "--ledger", url)).toEqual(sound);
  expect(await cli("ledger", "stats", "--ledger", url)).toMatchObject({
    out: "The ledger is empty.",
  });
  const show = ["ledger", "show", "--ledger", url, "--pipeline", "orders", "--key", "k1:a"];
  expect(await cli(...show)).toMatchObject({
    code: 1,
    out: "No record k1:a in orders, generation 0.",
  });
});

test.each([
  ["dlq", ["list", "show", "redrive", "drop"]],
  ["ledger", ["init", "migrate", "check", "show", "stats", "purge"]],
  ["outbox", ["purge"]],
])("%s --help lists the subcommands of the group and exits with 0", async (group, subcommands) => {
  for (const words of [
    [group, "--help"],
    [group, "-h"],
    ["help", group],
  ]) {
    const { code, out, err } = await cli(...words);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toContain(`Usage: tidegate ${group} SUBCOMMAND`);
    for (const each of subcommands) expect(out).toMatch(new RegExp(`^  ${group} ${each} `, "m"));
  }
});

test("help NAME shows the flags of a command, and fails for an unknown one", async () => {
  expect((await cli("help", "ledger", "stats")).out).toContain("Usage: tidegate ledger stats");
  expect(await cli("help", "legder")).toMatchObject({ code: 2 });
});

test.each([
  [["ledger", "init"], "--ledger is required"],
  [["ledger", "show", "--ledger", "memory:", "--key", "k"], "--pipeline is required"],
  [["ledger"], '"ledger" needs a subcommand: init, migrate, check, show, stats or purge'],
  [["ledger", "int"], '"ledger" has no subcommand "int"; use init, migrate'],
  [["ledger", "init", "--ledger", "mysql:x"], "TG_CONFIG_INVALID"],
  [["legder"], "did you mean ledger?"],
  [["comply"], '"comply" needs FILE'],
  [["comply", "a", "b"], '"comply" takes one argument, but got "b"'],
  [["comply", "./none.ts"], "the file ./none.ts does not exist"],
])("%j is refused in a sentence", async (words, sentence) => {
  const { code, err } = await cli(...words);
  expect(code).toBe(2);
  expect(err).toContain(sentence);
});

test("a producer that does not comply gives exit code 1 and says what to do", async () => {
  const file = join(folder, "wrong.mjs");
  writeFileSync(
    file,
    `export const produce = ({ payload, dedupeKey }) => ({
       body: JSON.stringify(payload), attributes: { unique_key: dedupeKey }, groupId: "g" });`,
  );
  const { code, out } = await cli("comply", file);
  expect(code).toBe(1);
  expect(out).toContain("  FAIL  a different dedupe_key gives a different body");
  expect(out).toContain("Fix: Put the key into the body");
  const json = JSON.parse((await cli("comply", file, "--json")).out);
  expect(json.results).toHaveLength(10);
});

test("a file that holds no producer, or cannot be read, is one sentence", async () => {
  const none = join(folder, "none.mjs");
  writeFileSync(none, "export const answer = 42;");
  expect(await cli("comply", none)).toMatchObject({ code: 2 });
  const broken = join(folder, "broken.mjs");
  writeFileSync(broken, "export const produce = (;");
  const { code, err } = await cli("comply", broken);
  expect(code).toBe(2);
  expect(err).toContain("cannot load");
});

test("help tells a command's argument", async () => {
  const { out } = await cli("comply", "--help");
  expect(out).toContain("Usage: tidegate comply FILE [flags]");
});

const LONG_AGO = epochMs(1_500_000_000_000);

test("expired rows of a ledger are deleted by its URL, and live ones stay", async () => {
  const url = `sqlite:${join(folder, "old.db")}`;
  const scope = { pipeline: "orders", generation: 0 };
  const claimAt = async (clock: Clock, count: number) => {
    const ledger = await openLedger(url, { ...systemPorts, clock });
    for (let at = 0; at < count; at += 1) {
      const key = asRecordKey(`k1:${clock.now()}-${at}`);
      const request = { key, input: ANY_INPUT, receivedAt: clock.now() };
      await ledger.claim(scope, [request], { owner: "w", leaseMs: seconds(30) });
    }
    await ledger.close();
  };
  await claimAt(createManualClock(LONG_AGO), 30);
  await claimAt(systemPorts.clock, 2);
  expect(await cli("ledger", "purge", "--ledger", url)).toMatchObject({
    code: 1, // By this clock ten years have passed since the last write.
    err: expect.stringContaining("nothing expires by it"),
  });
  expect(await cli("ledger", "purge", "--ledger", url, "--accept-clock")).toEqual({
    code: 0,
    out: "30 expired rows deleted.",
    err: "",
  });
  const again = await cli("ledger", "purge", "--ledger", url, "--accept-clock", "--json");
  expect(JSON.parse(again.out)).toEqual({ purged: 0, interrupted: false });
  expect((await cli("ledger", "stats", "--ledger", url)).out).toMatch(/orders +0 +0 +2 /);
});

test("expired rows of an outbox are deleted by its URL, and pending ones stay", async () => {
  const path = join(folder, "outbox.db");
  const url = `sqlite:${path}`;
  const missing = await cli("outbox", "purge", "--url", url);
  expect(missing).toMatchObject({ code: 2, err: expect.stringContaining("does not exist") });
  const outbox = createSqliteOutbox({ clock: createManualClock(LONG_AGO) }, { path });
  const entry = { groupId: null, dedupId: "d", payloadDigest: "p", body: "b", attributes: {} };
  const entries = ["sent", "pending"].map((key) => ({ ...entry, key }));
  await outbox.register("q", entries, { owner: "w", leaseMs: seconds(30) });
  await outbox.markSent("q", [{ key: "sent", epoch: 0, messageId: "m" }]);
  await outbox.close();
  const { code, out } = await cli("outbox", "purge", "--url", url, "--accept-clock", "--json");
  expect([code, JSON.parse(out)]).toEqual([0, { purged: 1, interrupted: false }]);
});

test("outbox purge --retention-days deletes rows that were sent longer ago", async () => {
  const path = join(folder, "shorter.db");
  const tenDaysAgo = subtractMs(systemPorts.clock.now(), days(10));
  const outbox = createSqliteOutbox({ clock: createManualClock(tenDaysAgo) }, { path });
  const entry = { groupId: null, dedupId: "d", payloadDigest: "p", body: "b", attributes: {} };
  await outbox.register("q", [{ ...entry, key: "a" }], { owner: "w", leaseMs: seconds(30) });
  await outbox.markSent("q", [{ key: "a", epoch: 0, messageId: "m" }]);
  await outbox.close();
  const purge = ["outbox", "purge", "--url", `sqlite:${path}`, "--accept-clock"];
  expect((await cli(...purge)).out).toBe("0 expired rows deleted.");
  expect((await cli(...purge, "--retention-days", "11")).out).toBe("0 expired rows deleted.");
  expect((await cli(...purge, "--retention-days", "9")).out).toBe("1 expired row deleted.");
});

test("a pipeline looks for an outbox in its ledger's file, and never creates one", async () => {
  const path = join(folder, "shared.db");
  const url = `sqlite:${path}`;
  expect(await findOutbox(url, systemPorts)).toBeNull();
  expect(existsSync(path)).toBe(false);
  await (await openLedger(url, systemPorts)).close();
  expect(await findOutbox(url, systemPorts)).toBeNull();
  await createSqliteOutbox(systemPorts, { path }).close();
  const existing = await findOutbox(url, systemPorts);
  expect(await existing?.purge(1)).toBe(0);
  await existing?.close();
});

// What an audit refuses: one test per row of the page on bad input.

import { generateKeyPairSync } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { lineText } from "../../../src/audit/audit-line.ts";
import { tables } from "../../../src/index.ts";
import { pipeline } from "../../../src/ingest/spec/define-pipeline.ts";
import {
  checkStatement,
  readEarlierStatement,
  readSigningKey,
  readStatement,
  signStatement,
  writeStatement,
} from "../../../src/operate/audits/statement-file.ts";
import { type RunningDev, startDev } from "../../../src/run/dev/start-dev.ts";
import { endOf, startCommand } from "../../support/command-process.ts";
import { type AuditCall, audit } from "../../support/operated.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("bad-audits");
const data = join(folder, "data");
const HOUR_MS = 3_600_000;
const files = pipeline({
  name: "files",
  source: { bucket: "files", prefix: "in/" },
  sink: tables({ lines: { columns: { id: "text" }, key: ["id"] } }),
  handler(event, { upsert }) {
    upsert("lines", { id: event.object.key });
  },
});
let dev: RunningDev;

beforeAll(async () => {
  dev = await startDev(files, { data, port: 0 }, { onLogLine: () => {} });
  await dev.put("in/a.txt", "a");
  await dev.idle();
});
afterAll(() => dev.stop());

const run = (call: AuditCall, ledger = `sqlite:${join(data, "ledger.db")}`) =>
  audit(files, { endpoint: dev.endpoint, ledger }, { graceMs: 0, ...call });

/** Writes a pair of keys and returns the paths of both. */
function keyPair(name: string): { readonly secret: string; readonly pub: string } {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const [secret, pub] = [join(folder, `${name}.pem`), join(folder, `${name}.pub.pem`)];
  writeFileSync(secret, privateKey.export({ type: "pkcs8", format: "pem" }));
  writeFileSync(pub, publicKey.export({ type: "spki", format: "pem" }));
  return { secret, pub };
}

test("a window in which nothing was written: complete, with no objects", async () => {
  const to = Date.now() - HOUR_MS;
  const statement = await run({ from: to - HOUR_MS, to });
  expect(statement).toMatchObject({ verdict: "complete", segments: [], exceptions: [] });
});

test("a window whose --from is not before its --to: refused, and nothing is read", async () => {
  const to = Date.now() - HOUR_MS;
  for (const from of [to, to + 1]) {
    await expect(run({ from, to })).rejects.toThrow(/^the start .* is not before the end /);
  }
});

test("a window in the future: refused, because an audit judges the past", async () => {
  const later = Date.now() + HOUR_MS;
  await expect(run({ to: later })).rejects.toThrow(/^the end .* is in the future; an audit judges/);
  await expect(run({ from: later })).rejects.toThrow(
    /^the start .* is in the future; no object can/,
  );
});

test("a statement that was edited: neither verified nor continued", async () => {
  const path = join(folder, "edited.json");
  writeStatement(path, await run({}));
  const edited = readFileSync(path, "utf8").replace('"committed": 1', '"committed": 2');
  writeFileSync(path, edited);
  const problem = "was edited: its content does not match its digest";
  expect(() => readStatement(path)).toThrow(problem);
  expect(() => readEarlierStatement(path, {})).toThrow(problem);
  writeFileSync(path, "not JSON");
  expect(() => readStatement(path)).toThrow("is not an audit statement; write one with");
});

test("a statement of a release that did not count quarantine: is refused, and says why", async () => {
  const path = join(folder, "older.json");
  const { quarantined: _, ...older } = await run({});
  writeFileSync(path, JSON.stringify(older));
  expect(() => readStatement(path)).toThrow("was written by an earlier release");
});

test("a signed statement without its key: not continued until --since-key or --sign names it", async () => {
  const path = join(folder, "signed.json");
  const [own, other] = [keyPair("own"), keyPair("other")];
  const signed = signStatement(await run({}), readSigningKey(own.secret));
  writeStatement(path, signed);
  expect(() => readEarlierStatement(path, {})).toThrow(
    /signed.json is signed, and no key can check it; name its public key$/,
  );
  const wrong = { signingKey: readSigningKey(other.secret) };
  expect(() => readEarlierStatement(path, wrong)).toThrow(/another key than the signing key; name/);
  expect(() => readEarlierStatement(path, { publicKey: other.pub })).toThrow("another key");
  const right = { signingKey: readSigningKey(own.secret) };
  expect(readEarlierStatement(path, right)).toEqual(signed);
  const previous = readEarlierStatement(path, { publicKey: own.pub, ...wrong });
  const { previous: changes } = await run({ previous });
  expect(changes?.keyId).toBe(signed.signature?.keyId);
  const value = Buffer.alloc(64).toString("base64");
  writeStatement(path, { ...signed, signature: { ...signed.signature, value } as never });
  expect(() => readEarlierStatement(path, right)).toThrow("does not match its content");
  writeStatement(path, { ...signed, signature: null });
  expect(() => readEarlierStatement(path, { publicKey: own.pub })).toThrow("is not signed");
});

test("an earlier statement that is not signed, with --sign: refused; without --sign, it is continued", async () => {
  const path = join(folder, "unsigned.json");
  const key = readSigningKey(keyPair("signer").secret);
  writeStatement(path, await run({}));
  const fix = "audit its window again and sign that, or leave this one unsigned";
  expect(() => readEarlierStatement(path, { signingKey: key })).toThrow(
    `unsigned.json is not signed, so a signed statement cannot continue it; ${fix}`,
  );
  const next = await run({ previous: readEarlierStatement(path, {}) });
  expect(next.previous?.keyId).toBe(null);
  expect(() => signStatement(next, key)).toThrow(/^the statement continues one that is not signed/);
  writeStatement(path, next);
  const { code, out } = await endOf(startCommand(["audit", "verify", path], { cwd: folder }));
  expect([code, out]).toEqual([
    0,
    expect.stringMatching(/\nIt continues a statement up to .*, which is not signed\n$/),
  ]);
});

test("a key file that is missing, or is not an Ed25519 key: refused before anything is read", async () => {
  const file = join(folder, "text.pem");
  writeFileSync(file, "no key");
  expect(() => readSigningKey(file)).toThrow("is not an Ed25519 private key in PEM form; create");
  expect(() => readSigningKey(join(folder, "none.pem"))).toThrow(/^cannot read .*: ENOENT$/);
  const words = ["audit", "no-such-file.ts", "--sign", file];
  const { code, err } = await endOf(startCommand(words, { cwd: folder }));
  expect([code, err]).toEqual([2, expect.stringContaining("is not an Ed25519 private key")]);
});

test("a sink that cannot be read: the audit fails, and says nothing about the bucket", async () => {
  const broken = join(folder, "broken.db");
  const db = new DatabaseSync(broken);
  db.exec("CREATE TABLE tidegate_sink_writers (other TEXT)");
  db.close();
  const settings = { endpoint: dev.endpoint, ledger: `sqlite:${join(data, "ledger.db")}` };
  await expect(
    audit(files, { ...settings, tablesDatabase: broken }, { graceMs: 0 }),
  ).rejects.toMatchObject({
    code: "TG_SINK_UNAVAILABLE",
    message: expect.stringContaining("the sink's tables cannot be read"),
  });
});

test("an option with an unknown value: one sentence that names it, exit code 2", async () => {
  const cases = [
    [["--grace", "soon"], "--grace"],
    [["--since-key", "pub.pem"], "--since-key needs --since-statement"],
  ] as const;
  for (const [flags, problem] of cases) {
    const { code, err } = await endOf(startCommand(["audit", "pipeline.ts", ...flags]));
    expect([code, err]).toEqual([2, expect.stringContaining(problem)]);
  }
});

test("a signature that was deleted, emptied or replaced: refused, with and without a key", async () => {
  const own = keyPair("deleted");
  const path = join(folder, "deleted.json");
  const signed = signStatement(await run({}), readSigningKey(own.secret));
  const verify = async (...more: string[]) => {
    const words = ["audit", "verify", path, ...more];
    const { code, out, err } = await endOf(startCommand(words, { cwd: folder }));
    expect(err).not.toContain("    at ");
    return `${code}: ${out}${err}`;
  };
  writeStatement(path, { ...signed, signature: undefined } as never);
  for (const more of [[], ["--key", own.pub]]) {
    expect(await verify(...more)).toMatch(
      /^1: .*deleted.json was edited: its signature was removed/,
    );
  }
  writeStatement(path, { ...signed, signature: {} as never });
  expect(await verify()).toMatch(/^1: .*its signature is not one of Ed25519/);
  writeStatement(path, { ...signed, signature: null });
  expect(await verify("--key", own.pub)).toMatch(/^1: .*deleted.json is not signed/);
  expect(await verify()).toMatch(/^0: .*deleted.json: unchanged, not signed/);
  writeStatement(path, signed);
  const previous = readEarlierStatement(path, { publicKey: own.pub });
  writeStatement(path, await run({ previous }));
  expect(await verify()).toMatch(/^1: .*is not signed, but the statement that it continues is/);
});

test("a file of lines is compared with its statement: each edit is found", async () => {
  const path = join(folder, "with-lines.json");
  const linesPath = join(folder, "lines.jsonl");
  for (const key of ["in/b.txt", "in/c.txt"]) await dev.put(key, key);
  await dev.idle();
  const lines: string[] = [];
  const statement = await run({ onLine: (line) => lines.push(lineText(line)) });
  writeStatement(path, statement);
  const check = async (text: string) => {
    writeFileSync(linesPath, text);
    return (await checkStatement(path, { lines: linesPath })).lines;
  };
  const text = lines.join("");
  expect(await check(text)).toEqual({ kind: "same", lines: lines.length, carried: 0 });
  const [first = "", ...others] = lines;
  await expect(check(others.join(""))).rejects.toThrow(
    /has \d instead of \d lines with the status/,
  );
  await expect(check(text.replace("in/b.txt", "in/x.txt"))).rejects.toThrow("not match its digest");
  await expect(check([...others, first].join(""))).rejects.toThrow("do not match its digest");
  await expect(check("")).rejects.toThrow("it has no lines of the segment from ");
  await expect(check(text.slice(0, -1))).rejects.toThrow("its last line is not complete");
  await expect(check(`${text}{}\n`)).rejects.toThrow(/line \d is not a line of an audit$/);
  const words = ["audit", "verify", path, "--lines", linesPath];
  const wrong = await endOf(startCommand(words, { cwd: folder }));
  expect([wrong.code, wrong.err]).toEqual([
    1,
    expect.stringContaining("is not a line of an audit"),
  ]);
  await check(text);
  const right = await endOf(startCommand(words, { cwd: folder }));
  expect([right.code, right.out]).toEqual([
    0,
    expect.stringContaining(`lines.jsonl: the ${lines.length} lines of the statement`),
  ]);
});

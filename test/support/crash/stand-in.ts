// Stand-in: a small, slow, correct SQS on SQLite that tests the crash harness. The harness must
// catch faulty servers, so the stand-in can also be started with a flaw:
//   late-commit      answers before it commits
//   forget-dedup     forgets the deduplication window when it starts
//   reset-sequence   counts sequence numbers from the start again
//   forget-receives  forgets receive counts and deadlines when it starts
//   shuffle          delivers groups in any order after a restart
//   lose-setting     forgets tags when it starts
//   split-move       moves dead letters in two commits, with a pause between them
//   forget-task      forgets its move tasks when it starts
//   copy-move        inserts and deletes in two commits in a move task, with a pause between them
//   half-purge       purges in two commits, and answers before the second
// Usage: node stand-in.ts FOLDER [FLAW]

import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";

type Input = Record<string, unknown>;
interface MessageRow {
  seq: number;
  queue: string;
  id: string;
  body: string;
  grp: string | null;
  sequence: string | null;
  sent: number;
  due: number;
  count: number;
  handle: string | null;
}

const WINDOW_MS = 300_000;
const LATE_COMMIT_MS = 40;
const SPLIT_MS = 30;
const MOVE_PAUSE_MS = 15;
const PURGE_REST_MS = 1_000;
const [folder = ".", flaw = ""] = process.argv.slice(2);
const db = new DatabaseSync(join(folder, "stand-in.db"));
db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
  CREATE TABLE IF NOT EXISTS queues (name TEXT PRIMARY KEY, attributes TEXT, tags TEXT);
  CREATE TABLE IF NOT EXISTS messages (seq INTEGER PRIMARY KEY AUTOINCREMENT, queue TEXT, id TEXT,
    body TEXT, grp TEXT, sequence TEXT, sent INTEGER, due INTEGER, count INTEGER, handle TEXT);
  CREATE TABLE IF NOT EXISTS dedup (queue TEXT, id TEXT, messageId TEXT, sequence TEXT, at INTEGER,
    PRIMARY KEY (queue, id));
  CREATE TABLE IF NOT EXISTS tasks (id INTEGER PRIMARY KEY, source TEXT, target TEXT, status TEXT);
  CREATE TABLE IF NOT EXISTS counter (value INTEGER);
  INSERT INTO counter SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM counter)`);
const restarted = db.prepare("SELECT 1 FROM messages").get() !== undefined;
if (flaw === "forget-dedup") db.exec("DELETE FROM dedup");
if (flaw === "reset-sequence") db.exec("UPDATE counter SET value = 0");
if (flaw === "forget-receives") db.exec("UPDATE messages SET due = 0, count = 0");
if (flaw === "forget-task") db.exec("DELETE FROM tasks");
if (flaw === "lose-setting") db.exec("UPDATE queues SET tags = '{}'");

const rows = (sql: string, ...values: (string | number | null)[]): MessageRow[] =>
  db.prepare(sql).all(...values) as unknown as MessageRow[];
const run = (sql: string, ...values: (string | number | null)[]): unknown =>
  db.prepare(sql).run(...values);
const nameOf = (input: Input): string => String(input.QueueUrl).split("/").at(-1) ?? "";
const orNull = (value: unknown): string | null => (value === undefined ? null : String(value));

function jsonOf(name: string, column: "attributes" | "tags"): Record<string, string> {
  const row = db.prepare(`SELECT ${column} AS text FROM queues WHERE name = ?`).get(name);
  if (row === undefined) throw new Error(`no such queue: ${name}`);
  return JSON.parse(String(row.text)) as Record<string, string>;
}

function merge(name: string, column: "attributes" | "tags", more: unknown): null {
  const text = JSON.stringify({ ...jsonOf(name, column), ...(more as object) });
  run(`UPDATE queues SET ${column} = ? WHERE name = ?`, text, name);
  return null;
}

function nextSequence(): string {
  const row = db.prepare("UPDATE counter SET value = value + 1 RETURNING value").get();
  return String(row?.value).padStart(20, "0");
}

function send(input: Input): Input {
  const queue = nameOf(input);
  const contentBased = jsonOf(queue, "attributes").ContentBasedDeduplication === "true";
  const dedupId = orNull(contentBased ? input.MessageBody : input.MessageDeduplicationId);
  const now = Date.now();
  run("DELETE FROM dedup WHERE at < ?", now - WINDOW_MS);
  const sql = "SELECT messageId, sequence FROM dedup WHERE queue = ? AND id = ?";
  const original = dedupId === null ? undefined : db.prepare(sql).get(queue, dedupId);
  if (original !== undefined)
    return { MessageId: original.messageId, SequenceNumber: original.sequence };
  const id = randomUUID();
  const sequence = queue.endsWith(".fifo") ? nextSequence() : null;
  const due = input.DelaySeconds === undefined ? 0 : now + Number(input.DelaySeconds) * 1_000;
  run(
    "INSERT INTO messages VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, 0, NULL)",
    ...[queue, id, String(input.MessageBody), orNull(input.MessageGroupId), sequence, now, due],
  );
  if (dedupId !== null)
    run("INSERT INTO dedup VALUES (?,?,?,?,?)", queue, dedupId, id, sequence, now);
  return sequence === null ? { MessageId: id } : { MessageId: id, SequenceNumber: sequence };
}

/** The messages that a receive may return, earliest first, without groups in flight. */
function candidates(queue: string, now: number): MessageRow[] {
  const order = flaw === "shuffle" && restarted ? "id" : "seq";
  const all = rows(`SELECT * FROM messages WHERE queue = ? ORDER BY ${order}`, queue);
  const fifo = queue.endsWith(".fifo");
  const blocked = new Set(all.filter(({ due }) => due > now).map(({ grp }) => grp));
  return all.filter(({ due, grp }) => due <= now && !(fifo && blocked.has(grp)));
}

async function moveToDead(row: MessageRow, target: string): Promise<void> {
  const sequence = target.endsWith(".fifo") ? nextSequence() : null;
  if (flaw === "split-move") {
    run("DELETE FROM messages WHERE seq = ?", row.seq);
    await sleep(SPLIT_MS);
    const { id, body, grp, sent, count } = row;
    const values = [target, id, body, grp, sequence, sent, count];
    run("INSERT INTO messages VALUES (NULL, ?, ?, ?, ?, ?, ?, 0, ?, NULL)", ...values);
    return;
  }
  run(
    "UPDATE messages SET queue = ?, sequence = ?, due = 0 WHERE seq = ?",
    ...[target, sequence, row.seq],
  );
}

async function receive(input: Input): Promise<Input> {
  const queue = nameOf(input);
  const now = Date.now();
  const policy = jsonOf(queue, "attributes").RedrivePolicy;
  const redrive = policy === undefined ? null : (JSON.parse(policy) as Record<string, string>);
  const Messages: Input[] = [];
  for (const row of candidates(queue, now)) {
    if (Messages.length === Number(input.MaxNumberOfMessages)) break;
    if (redrive !== null && row.count >= Number(redrive.maxReceiveCount)) {
      await moveToDead(row, String(redrive.deadLetterTargetArn).split(":").at(-1) ?? "");
      continue;
    }
    const handle = randomUUID();
    const due = now + Number(input.VisibilityTimeout) * 1_000;
    const sql = "UPDATE messages SET due = ?, count = count + 1, handle = ? WHERE seq = ?";
    run(sql, due, handle, row.seq);
    const Attributes = {
      ApproximateReceiveCount: `${row.count + 1}`,
      SequenceNumber: row.sequence,
    };
    Messages.push({ MessageId: row.id, ReceiptHandle: handle, Body: row.body, Attributes });
  }
  return Messages.length === 0 ? {} : { Messages };
}

function purge(input: Input): null {
  const queue = nameOf(input);
  const half = flaw === "half-purge" ? "AND seq % 2 = 0" : "";
  run(`DELETE FROM messages WHERE queue = ? ${half}`, queue);
  const [top] = rows("SELECT max(seq) AS seq FROM messages WHERE queue = ?", queue);
  const rest = "DELETE FROM messages WHERE queue = ? AND seq <= ?";
  if (flaw === "half-purge") setTimeout(() => run(rest, queue, top?.seq ?? 0), PURGE_REST_MS);
  return null;
}

/** Moves one message of the running task, or completes the task. */
async function moveOne(): Promise<null> {
  const task = db.prepare("SELECT * FROM tasks WHERE status = 'RUNNING'").get();
  if (task === undefined) return null;
  const [row] = candidates(String(task.source), Date.now());
  if (row === undefined) {
    run("UPDATE tasks SET status = 'COMPLETED' WHERE id = ?", Number(task.id));
    return null;
  }
  const values = [String(task.target), randomUUID(), row.body, row.grp, row.sent];
  run("INSERT INTO messages VALUES (NULL, ?, ?, ?, ?, NULL, ?, 0, 0, NULL)", ...values);
  if (flaw === "copy-move") await sleep(SPLIT_MS);
  run("DELETE FROM messages WHERE seq = ?", row.seq);
  return null;
}

const nameIn = (arn: unknown): string => String(arn).split(":").at(-1) ?? "";
const entriesOf = (input: Input): Input[] =>
  (input.Entries as Input[]).map((entry) => ({ QueueUrl: input.QueueUrl, ...entry }));

type Action = (input: Input, host: string) => Input | null | Promise<Input | null>;
const urlOf = (host: string, name: unknown): Input => ({ QueueUrl: `http://${host}/0/${name}` });
const ACTIONS: Record<string, Action> = {
  CreateQueue(input, host) {
    const own = { QueueArn: `arn:aws:sqs:us-east-1:000000000000:${input.QueueName}` };
    const attributes = JSON.stringify({ ...(input.Attributes as object), ...own });
    const tags = JSON.stringify(input.tags);
    run("INSERT INTO queues VALUES (?, ?, ?)", String(input.QueueName), attributes, tags);
    return urlOf(host, input.QueueName);
  },
  GetQueueUrl: (input, host) => urlOf(host, input.QueueName),
  GetQueueAttributes: (input) => ({ Attributes: jsonOf(nameOf(input), "attributes") }),
  ListQueueTags: (input) => ({ Tags: jsonOf(nameOf(input), "tags") }),
  SetQueueAttributes: (input) => merge(nameOf(input), "attributes", input.Attributes),
  TagQueue: (input) => merge(nameOf(input), "tags", input.Tags),
  SendMessage: send,
  SendMessageBatch: (input) => ({
    Successful: entriesOf(input).map((entry) => ({ Id: entry.Id, ...send(entry) })),
  }),
  DeleteMessageBatch: (input) => ({
    Successful: entriesOf(input).map(({ Id, ReceiptHandle }) => {
      run("DELETE FROM messages WHERE handle = ?", String(ReceiptHandle));
      return { Id };
    }),
  }),
  PurgeQueue: purge,
  StartMessageMoveTask({ SourceArn, DestinationArn }) {
    const sql = "INSERT INTO tasks VALUES (NULL, ?, ?, 'RUNNING')";
    run(sql, nameIn(SourceArn), nameIn(DestinationArn));
    return {};
  },
  ListMessageMoveTasks() {
    const sql = "SELECT status AS Status FROM tasks ORDER BY id DESC LIMIT 10";
    return { Results: db.prepare(sql).all() };
  },
  MoveOne: moveOne,
  ReceiveMessage: receive,
  DeleteMessage(input) {
    run("DELETE FROM messages WHERE handle = ?", String(input.ReceiptHandle));
    return null;
  },
  ChangeMessageVisibility(input) {
    const due = Date.now() + Number(input.VisibilityTimeout) * 1_000;
    run("UPDATE messages SET due = ? WHERE handle = ?", due, String(input.ReceiptHandle));
    return null;
  },
};

function inspect(path: string): Input {
  const url = new URL(path, "http://stand-in");
  const [, , , name, messages] = url.pathname.split("/");
  const state = (due: number, count: number): string =>
    due <= Date.now() ? "visible" : count === 0 ? "delayed" : "in-flight";
  if (messages !== undefined) {
    const sql = "SELECT * FROM messages WHERE queue = ? AND seq > ? ORDER BY seq LIMIT 101";
    const page = rows(sql, String(name), Number(url.searchParams.get("after")));
    const shown = page.slice(0, 100).map(({ seq, id, body, grp, due, count, sent }) => {
      const content = { seq, messageId: id, body, groupId: grp, sentAt: sent, dueAt: due };
      return { ...content, state: state(due, count), receiveCount: count };
    });
    return { messages: shown, nextAfter: page.length > 100 ? shown.at(-1)?.seq : null };
  }
  const counts = db.prepare("SELECT queue AS name, COUNT(*) AS visible FROM messages GROUP BY 1");
  return { queues: counts.all().map((row) => ({ ...row, delayed: 0, inFlight: 0 })) };
}

/** One request at a time, each in a transaction that is committed before the response. */
let last: Promise<unknown> = Promise.resolve();
async function answer(action: string, text: string, host: string): Promise<Input | null> {
  const handler = ACTIONS[action];
  if (handler === undefined) throw new Error(`unknown action ${action}`);
  const own = !["late-commit", "split-move", "copy-move"].includes(flaw);
  if (own) db.exec("BEGIN");
  const output = await handler(JSON.parse(text) as Input, host);
  if (own) db.exec("COMMIT");
  return output;
}

if (flaw === "late-commit") {
  db.exec("BEGIN");
  setInterval(() => db.exec("COMMIT; BEGIN"), LATE_COMMIT_MS);
}

setInterval(() => {
  const move = (): Promise<unknown> => answer("MoveOne", "{}", "");
  last = last.then(move, move);
}, MOVE_PAUSE_MS);

const server = createServer(async (request, response) => {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  const action = String(request.headers["x-amz-target"]).split(".").at(-1) ?? "";
  const work = async (): Promise<Input | null> =>
    request.method === "GET"
      ? inspect(String(request.url))
      : answer(action, text, String(request.headers.host));
  last = last.then(work, work);
  const output = (await last) as Input | null;
  response.end(output === null ? "" : JSON.stringify(output));
});
server.listen(0, "127.0.0.1", () => {
  console.log(`ready http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});

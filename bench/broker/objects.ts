// Objects: the cost of a small put with its event, and the memory cost of one big object.
//   O1. Every put has a unique key, notifies a queue, and counts once it is acknowledged.
//       Afterwards the queue must hold one event for each, or the run fails.
//   O2. The big object is uploaded and downloaded as a stream, and the downloaded bytes must have
//       the ETag of the uploaded ones.
//   O3. Memory is the highest resident size of the server's process, as it reports it. Its heap is
//       not limited by flags, and no garbage collection is forced before.

import { createHash } from "node:crypto";
import { request } from "node:http";
import { fileURLToPath } from "node:url";
import { askMemory } from "./child-server.ts";
import type { Target } from "./load.ts";
import type { BenchOptions } from "./options.ts";
import type { RawConnection } from "./raw-connection.ts";
import { createQueue, expectWaiting, openSession, type Session, serverArgs } from "./servers.ts";
import { slot, slotsOf, writeSlot } from "./sqs-request.ts";
import { median } from "./statistics.ts";

const SMALL_BYTES = 10 * 1_024;
const PUTS_MAX = 100_000;
const CHUNK_BYTES = 64 * 1_024;
const MIB = 1_024 ** 2;

export interface Objects {
  /** PutObject of 10 KiB with a notification to a queue. */
  readonly putsPerSecond: number;
  readonly bigBytes: number;
  readonly upMibPerSecond: number;
  readonly downMibPerSecond: number;
  /** The highest resident size of the server that handles the big object. */
  readonly peakRssBytes: number;
}

function putRequest(port: number, path: string, body: Uint8Array | string): Buffer {
  const bytes = Buffer.from(body);
  const host = `Host: 127.0.0.1:${port}\r\nContent-Length: ${bytes.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(`PUT ${path} HTTP/1.1\r\n${host}`, "latin1"), bytes]);
}

async function put(session: Session, path: string, body = ""): Promise<void> {
  const reply = await session.control.call(putRequest(session.server.port, path, body));
  if (reply?.status === 200) return;
  throw new Error(`put of ${path}: ${reply?.status} ${reply?.body.toString("utf8").slice(0, 300)}`);
}

/** A bucket that notifies its own queue of every object. */
async function notifyingBucket(session: Session, name: string): Promise<Target> {
  const target = await createQueue(session, name);
  await put(session, `/${name}`);
  const arn = `arn:aws:sqs:us-east-1:000000000000:${name}`;
  const rule = `<Queue>${arn}</Queue><Event>s3:ObjectCreated:*</Event>`;
  const document = `<QueueConfiguration>${rule}</QueueConfiguration>`;
  await put(
    session,
    `/${name}?notification`,
    `<NotificationConfiguration>${document}</NotificationConfiguration>`,
  );
  return target;
}

/** Puts from all connections until the time is over; returns how many were acknowledged. */
function putMany(session: Session, bucket: string, msMax: number): Promise<number> {
  const body = Buffer.alloc(SMALL_BYTES, "0123456789abcdef");
  const template = putRequest(session.server.port, `/${bucket}/in/${slot()}`, body);
  const slots = slotsOf(template);
  const startedAt = performance.now();
  let next = 0;
  let answered = 0;
  let open = session.connections.length;
  return new Promise((resolve, reject) => {
    const work = (connection: RawConnection, bytes: Buffer): void => {
      if (next >= PUTS_MAX || performance.now() - startedAt >= msMax) {
        open -= 1;
        if (open === 0) resolve(answered);
        return;
      }
      for (const at of slots) writeSlot(bytes, at, next);
      next += 1;
      connection.send(bytes, (reply) => {
        if (reply?.status !== 200) return reject(new Error(`put: ${reply?.status}`));
        answered += 1;
        work(connection, bytes);
      });
    };
    for (const connection of session.connections) work(connection, Buffer.from(template));
  });
}

async function measurePuts(session: Session, options: BenchOptions): Promise<number> {
  const rates: number[] = [];
  for (let round = 0; round <= options.rounds; round += 1) {
    await session.reconnect();
    const bucket = `bench-puts-${round}`;
    const target = await notifyingBucket(session, bucket);
    const startedAt = performance.now();
    const answered = await putMany(session, bucket, options.windowMs);
    const elapsedMs = performance.now() - startedAt;
    await expectWaiting(session, target, answered + 1); // O1: one more, the test event.
    if (round > 0) rates.push((answered / elapsedMs) * 1_000);
  }
  return median(rates);
}

/** Sends `sizeBytes` as one object; returns the ETag of the response. */
export function sendBig(port: number, path: string, sizeBytes: number): Promise<string> {
  const chunk = Buffer.alloc(CHUNK_BYTES, "0123456789abcdef");
  return new Promise((resolve, reject) => {
    const headers = { "content-length": String(sizeBytes) };
    const sent = request({ host: "127.0.0.1", port, method: "PUT", path, headers }, (reply) => {
      reply.resume();
      if (reply.statusCode === 200) resolve(String(reply.headers.etag));
      else reject(new Error(`the big put failed with ${reply.statusCode}`));
    });
    sent.on("error", reject);
    let remaining = sizeBytes;
    const more = (): void => {
      while (remaining > 0) {
        const piece = remaining < chunk.length ? chunk.subarray(0, remaining) : chunk;
        remaining -= piece.length;
        if (!sent.write(piece)) return;
      }
      sent.off("drain", more);
      sent.end();
    };
    sent.on("drain", more);
    more();
  });
}

/** Reads an object to its end; returns the ETag of its bytes. */
export function fetchBig(port: number, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", port, path }, (reply) => {
      const md5 = createHash("md5");
      reply.on("data", (chunk: Buffer) => md5.update(chunk));
      reply.on("error", reject);
      reply.on("end", () => resolve(`"${md5.digest("hex")}"`));
    });
    sent.on("error", reject);
    sent.end();
  });
}

async function measureBig(
  folder: string,
  sizeBytes: number,
): Promise<Omit<Objects, "putsPerSecond">> {
  const server = fileURLToPath(new URL("./server.ts", import.meta.url));
  const session = await openSession("ours", [server, folder], 1); // O3
  try {
    const { port } = session.server;
    await put(session, "/bench-big");
    const startedAt = performance.now();
    const uploaded = await sendBig(port, "/bench-big/one", sizeBytes);
    const upAt = performance.now();
    const read = await fetchBig(port, "/bench-big/one");
    const downAt = performance.now();
    if (read !== uploaded)
      throw new Error(`uploaded with ETag ${uploaded}, downloaded with ${read}`); // O2
    const { peakRssBytes } = await askMemory(session.server);
    const rate = (ms: number): number => (sizeBytes / MIB / ms) * 1_000;
    return {
      bigBytes: sizeBytes,
      upMibPerSecond: rate(upAt - startedAt),
      downMibPerSecond: rate(downAt - upAt),
      peakRssBytes,
    };
  } finally {
    await session.end();
  }
}

/** Measures the durable server; each measurement has its own server and folder. */
export async function runObjects(
  makeFolder: () => string,
  options: BenchOptions,
  progress: (line: string) => void,
): Promise<Objects> {
  const session = await openSession("ours", serverArgs("ours", makeFolder()), options.connections);
  let putsPerSecond = 0;
  try {
    putsPerSecond = await measurePuts(session, options);
  } finally {
    await session.end();
  }
  progress(`ours: ${Math.round(putsPerSecond)} puts/s of 10 KiB with an event`);
  const big = await measureBig(makeFolder(), options.bigBytes);
  progress(`ours: a big object took ${Math.round(big.peakRssBytes / MIB)} MiB at its peak`);
  return { putsPerSecond, ...big };
}

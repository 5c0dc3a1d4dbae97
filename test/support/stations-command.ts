// Stations command: the handler of the stations example as a command of its own, as a program in
// another language would be. It reads its event from a file and the object from S3, and writes a
// result.

import { appendFileSync, readFileSync } from "node:fs";
import { S3Client } from "@aws-sdk/client-s3";
import stations from "../../examples/stations/pipeline.ts";
import { createS3ObjectSource } from "../../src/aws/s3/s3-object-source.ts";
import { readObjectEvent } from "../../src/ingest/stages/read-event.ts";
import { systemPorts } from "../../src/platform/index.ts";
import { createRowReader } from "../../src/readers/row-reader.ts";

const { TIDEGATE_EVENT_FILE = "", TIDEGATE_RESULT_FILE = "", ENDPOINT = "" } = process.env;
const { object } = JSON.parse(readFileSync(TIDEGATE_EVENT_FILE, "utf8"));
const client = new S3Client({
  endpoint: ENDPOINT,
  region: "us-east-1",
  forcePathStyle: true,
  credentials: { accessKeyId: "any", secretAccessKey: "any" },
});
const ports = {
  objects: createS3ObjectSource({ client }),
  rows: createRowReader(systemPorts),
};
const { signal } = new AbortController();
const lines: string[] = [];
const note = (effect: object) => void lines.push(`${JSON.stringify(effect)}\n`);
await stations.handler(readObjectEvent(stations, object, ports, signal) as never, {
  key: process.env.TIDEGATE_KEY ?? "",
  fence: Number(process.env.TIDEGATE_FENCE),
  attempt: Number(process.env.TIDEGATE_ATTEMPT),
  lane: "live",
  watermark: null,
  signal,
  now: () => 0,
  random: () => 0,
  uuid: () => "",
  parameters: {},
  models: {},
  lookups: {},
  upsert: (table, row) => note({ op: "upsert", table, row }),
  delete: (table, key) => note({ op: "delete", table, key }),
  emit: (value) => note({ op: "emit", value }),
  sql() {
    throw new Error("a result has no SQL effects");
  },
  flush: async () => undefined,
  log: (level, message) => console.log(level, message),
});
appendFileSync(TIDEGATE_RESULT_FILE, lines.join(""));
client.destroy();

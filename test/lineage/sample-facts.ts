// Sample facts: runs with odd names, for tests of the renderings.

import { epochMs } from "../../src/core/units.ts";
import type { LineageFacts } from "../../src/lineage/lineage-facts.ts";

const HASH = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

/** A live run that read two versions of an object and a message, and wrote a table. */
export const LIVE: LineageFacts = {
  run: {
    id: "0193d0d4-7d00-7000-8000-000000000001",
    kind: "live",
    pipeline: "soil",
    generation: 0,
    startedAt: epochMs(1_763_164_800_000),
    endedAt: epochMs(1_763_164_805_000),
    codeDigest: HASH,
    configDigest: HASH.toUpperCase().toLowerCase(),
    version: "1.0.0",
    window: null,
    revisionOf: null,
    failure: null,
  },
  inputs: [
    {
      recordKey: "k1:aa",
      eventId: "0193d0d4-7d00-8000-8000-00000000000a",
      object: {
        bucket: "lake",
        key: "in coming/ä+b 'x' (1)#?.csv",
        versionId: "v/1 2",
        etag: "abc",
        size: 12,
      },
      source: null,
      messageId: "m-1",
      eventTime: epochMs(1_763_164_700_000),
      hash: `sha256:${HASH}`,
    },
    {
      recordKey: "k1:bb",
      eventId: null,
      object: { bucket: "lake", key: "a.csv", versionId: null, etag: null, size: null },
      source: null,
      messageId: null,
      eventTime: epochMs(1_763_164_600_000),
      hash: "crc64nvme:0123456789abcdef",
    },
    {
      recordKey: "k1:cc",
      eventId: null,
      object: null,
      source: "orders",
      messageId: "m 3",
      eventTime: epochMs(1_763_164_650_000),
      hash: `sha256:${HASH}`,
    },
    {
      recordKey: "k1:dd",
      eventId: null,
      object: null,
      source: null,
      messageId: null,
      eventTime: epochMs(1_763_164_650_000),
      hash: null,
    },
  ],
  outputs: [
    {
      name: "readings",
      kind: "table",
      accessUrl: "postgres://127.0.0.1:5432/soil",
      rows: 3,
      contentHash: HASH,
      columns: [
        { name: "station", type: "text" },
        { name: "value", type: "real" },
      ],
    },
    {
      name: "archive",
      kind: "objects",
      accessUrl: "s3://lake/archive/",
      rows: 1,
      contentHash: HASH,
      columns: [],
    },
  ],
};

/** A replay of a window that replaces the live run, with the table in a file. */
export const REPLAY: LineageFacts = {
  ...LIVE,
  run: {
    ...LIVE.run,
    id: "0193d0d4-7d00-8000-8000-000000000002",
    kind: "replay",
    generation: 1,
    window: { from: epochMs(1_763_078_400_000), to: epochMs(1_763_164_800_000) },
    revisionOf: LIVE.run.id,
  },
  outputs: LIVE.outputs
    .slice(0, 1)
    .map((output) => ({ ...output, accessUrl: "sqlite:data dir/ledger.sqlite", columns: [] })),
};

/** A run that failed as a whole, and one that still continues, without inputs or outputs. */
export const FAILED: LineageFacts = {
  ...REPLAY,
  run: { ...REPLAY.run, failure: "the sink refused the rows" },
};
export const CONTINUING: LineageFacts = {
  run: { ...LIVE.run, endedAt: null },
  inputs: [],
  outputs: [],
};

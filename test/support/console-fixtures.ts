// Console fixtures: answers of the console's API for tests of the page, in the shape of the OpenAPI
// file. Names, bodies, errors and attributes contain script tags: the page must show them as text.

export const T0 = Date.UTC(2026, 2, 2, 12, 0, 0);
export const HOUR = 3_600_000;
/** If the page ever takes it for markup, `window.hacked` is set. */
export const HOSTILE = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>`;
export const OBJECT_KEY = "observations/2026-03-02/BER01.csv";
export const HOSTILE_KEY = `observations/${HOSTILE}.csv`;

const NO_METRICS = {
  perSecond: null,
  total: null,
  backlog: null,
  inFlight: null,
  delayed: null,
  oldestAgeMs: null,
  retries: null,
  retriesPerSecond: null,
  duplicates: null,
  deadLetters: null,
  deadLettersMore: false,
  watermark: null,
  completeUpTo: null,
};

export function flowNodes(backlog: number) {
  const node = (id: string, name: string, title: string, state: string, metrics: object) => ({
    id,
    name,
    title,
    state,
    metrics: { ...NO_METRICS, ...metrics },
  });
  return [
    node("bucket", "stations", "S3 bucket", "ok", { perSecond: 114.2, total: 1_204 }),
    node("topic", "stations-objects", "SNS topic", "ok", { perSecond: 114.2, total: 1_204 }),
    node("queue", "stations-events", "Queue", backlog > 500 ? "warning" : "ok", {
      perSecond: 114.6,
      backlog,
      inFlight: 8,
      delayed: 3,
      oldestAgeMs: 42_000,
    }),
    node("pipeline", "stations", "Pipeline", "ok", {
      perSecond: 114.1,
      total: 1_180,
      inFlight: 8,
      retries: 17,
      retriesPerSecond: 0.1,
      duplicates: 118,
      watermark: T0 - 48 * HOUR,
      completeUpTo: T0 - 60 * HOUR,
    }),
    node("sink", "observation, station_day", "Tables", "ok", { perSecond: 114.1, total: 1_150 }),
    node("dead-letters", "stations-dead-letters", "Dead letters", "error", { deadLetters: 12 }),
  ];
}

export const FLOW_HOPS = [
  { from: "bucket", to: "topic", perSecond: 114.2 },
  { from: "topic", to: "queue", perSecond: 114.2 },
  { from: "queue", to: "pipeline", perSecond: 114.6 },
  { from: "pipeline", to: "sink", perSecond: 114.1 },
  { from: "pipeline", to: "dead-letters", perSecond: 0 },
];

export const PROBLEM = {
  id: "dead-letters",
  severity: "error",
  node: "dead-letters",
  title: "12 dead letters",
  detail: "Their records are not applied.",
  fix: "Fix the cause, then redrive them.",
  view: "dead-letters",
  query: "errorClass=schema",
};

const SERIES = [
  ["received", "Received", "per second"],
  ["applied", "Applied", "per second"],
  ["retries", "Retries", "per second"],
  ["deadLetters", "Dead letters", "per second"],
  ["backlog", "Waiting", "count"],
  ["inFlight", "In flight", "count"],
  ["oldestAgeMs", "Oldest", "ms"],
  ["watermarkLagMs", "Watermark lag", "ms"],
] as const;

export function flowHistory() {
  const stepMs = 30_000;
  const times = Array.from({ length: 120 }, (_, index) => T0 - (120 - index) * stepMs);
  const series = SERIES.map(([name, title, unit], line) => ({
    name,
    title,
    unit,
    values: times.map((_, index) => {
      if (index < 10) return null;
      return Math.round((4 + line * 3 + 3 * Math.sin(index / (5 + line))) * 10) / 10;
    }),
  }));
  return { stepMs, times, series };
}

export const FAILURE = {
  errorClass: "schema",
  fingerprint: "9f2c01aa77b0c3d4",
  message: `row 3: temperature must be a number, got ${HOSTILE}`,
};

export function recordSummary(key: string, name: string, outcome: string) {
  return {
    key,
    pipeline: "stations",
    generation: 0,
    name,
    outcome,
    attempts: outcome === "dead-lettered" ? 5 : 1,
    fence: 3,
    lane: "live",
    eventTime: T0 - 2 * HOUR,
    seenAt: T0 - HOUR,
    changedAt: T0 - HOUR + 1_200,
    rows: outcome === "committed" ? 25 : null,
    failure: outcome === "dead-lettered" ? FAILURE : null,
  };
}

export const RUN = {
  id: "run-0192",
  kind: "live",
  startedAt: T0 - 5 * HOUR,
  endedAt: null,
  seenAt: T0,
  alive: true,
  codeDigest: "c0de55",
  configDigest: "c0f166",
  environment: { host: HOSTILE },
  parameters: {},
  counts: { committed: 1_150 },
};

export const REPLAY = {
  run: "5e9a1c00-0000-7000-8000-000000000001",
  generation: 1,
  state: "ready",
  into: "shadow",
  from: T0 - 5 * HOUR,
  to: T0,
  prefix: null,
  inputs: 24,
  missing: 1,
  createdAt: T0 - HOUR,
  codeDigest: "c0de56",
  outcome: {
    committed: 23,
    superseded: 0,
    failed: 1,
    failures: [{ uri: `s3://stations/${HOSTILE_KEY}`, reason: HOSTILE }],
  },
  tables: [{ table: "observations", shadow: "observations__5e9a1c00" }],
};

export const REPLAY_DIFF = {
  run: REPLAY.run,
  hidden: false,
  tables: [
    {
      table: "observations",
      added: 2,
      removed: 0,
      changed: 31,
      keptObjects: 1,
      samples: [
        {
          kind: "changed",
          key: { station: HOSTILE },
          live: { temperature: "14" },
          replayed: { temperature: "7" },
        },
        { kind: "added", key: { station: "BER01" }, live: null, replayed: { temperature: null } },
      ],
    },
  ],
};

export const AUDIT = {
  id: "0192a0d1-0000-7000-8000-000000000001",
  startedAt: T0 - HOUR,
  endedAt: T0 - HOUR + 4_200,
  bucket: "stations",
  prefix: "observations/",
  from: T0 - 24 * HOUR,
  to: T0 - HOUR,
  verdict: "incomplete",
  counts: {
    committed: 1_150,
    superseded: 3,
    "dead-lettered": 12,
    held: 1,
    "in-flight": 8,
    waiting: 240,
    ignored: 0,
    gone: 2,
    unknown: 0,
    missing: 1,
    orphan: 0,
    double: 0,
  },
  digest: "9b74c9897bac770ffc029102a200c5de11fb1a1f3d9b74c9897bac770ffc0291",
  exceptions: [
    { key: HOSTILE_KEY, versionId: "v1", status: "missing", reason: `no record of ${HOSTILE}` },
  ],
  quarantined: { sets: 0, rows: 0 },
  sinkChecked: true,
};

export function deadLetter(key: string, name: string) {
  return {
    key,
    pipeline: "stations",
    generation: 0,
    name,
    queue: "stations-events",
    messageId: "6f0b8a52-0000-4000-8000-000000000001",
    groupId: null,
    object: { bucket: "stations", key: HOSTILE_KEY },
    businessKey: null,
    ...FAILURE,
    stack: `SchemaError: ${HOSTILE}\n    at handler (pipeline.ts:72:11)`,
    attempts: 5,
    receiveCount: 5,
    eventTime: T0 - 2 * HOUR,
    firstFailedAt: T0 - 2 * HOUR,
    lastFailedAt: T0 - HOUR,
    tookMs: 12.5,
    traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
    payload: { station: "BER01", note: HOSTILE, temperature: "warm" },
    deadLetterQueue: "stations-dead-letters",
  };
}

const entry = (at: number, status: string, failed = false) => ({
  at,
  status,
  fence: 3,
  owner: status === "started" ? "worker-1" : null,
  failure: failed ? FAILURE : null,
});

export function recordDetail(summary: ReturnType<typeof recordSummary>) {
  const isDead = summary.outcome === "dead-lettered";
  return {
    summary,
    timeline: [
      entry(T0 - HOUR, "received"),
      entry(T0 - HOUR + 4, "started"),
      isDead ? entry(T0 - HOUR + 900, "failed", true) : entry(T0 - HOUR + 900, "succeeded"),
    ],
    names: [summary.name],
    kind: "object",
    object: {
      bucket: "stations",
      key: summary.name.replace("s3://stations/", ""),
      versionId: "v1",
      etag: "0b1c",
      size: 1_240,
      sequencer: "0055AED6DCD90281E5",
    },
    source: null,
    businessKey: null,
    eventId: "event-1",
    messageId: "message-1",
    sentAt: T0 - HOUR - 800,
    partition: "stations/observations",
    traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
    watermark: T0 - 48 * HOUR,
    heldBy: null,
    tookMs: isDead ? null : 12,
    quarantined: 0,
    effects: isDead ? null : { "upsert observation": 24, "upsert station_day": 1 },
    digest: isDead ? null : "d1",
    superseded: false,
    tooLate: null,
    duplicates: { count: 2, lastAt: T0 - 1_000 },
    rememberedUntil: T0 + 45 * 24 * HOUR,
    run: RUN,
    edited: isDead ? { count: 1, messageId: "copy-message", at: T0 } : null,
    deadLetter: isDead ? deadLetter(summary.key, summary.name) : null,
    text: [`${summary.name} in pipeline stations, generation 0`, "  outcome     committed"],
  };
}

export function deadLetterGroup(count: number) {
  return {
    id: "schema:9f2c01aa77b0c3d4",
    ...FAILURE,
    count,
    firstFailedAt: T0 - 20 * HOUR,
    lastFailedAt: T0 - HOUR,
    trend: { from: T0 - 23 * HOUR, stepMs: HOUR, counts: [...Array(20).fill(0), 2, 5, 4, 1] },
    sample: deadLetter("k1:dead", `s3://stations/${HOSTILE_KEY}`),
  };
}

export const TIME = {
  at: T0,
  pipeline: "stations",
  generation: 0,
  watermark: T0 - 48 * HOUR,
  completeUpTo: T0 - 60 * HOUR,
  heldBy: `dead letter s3://stations/${HOSTILE_KEY}`,
  looked: true,
  partitions: [
    { name: "BER01", eventTime: T0 - 2 * HOUR, seenAt: T0 - 9_000, idle: false, holds: false },
    { name: HOSTILE, eventTime: T0 - 30 * HOUR, seenAt: T0 - HOUR, idle: false, holds: true },
    { name: "KIE06", eventTime: T0 - 90 * HOUR, seenAt: T0 - 9 * HOUR, idle: true, holds: false },
  ],
  held: {
    count: 1,
    more: false,
    items: [
      {
        key: "k1:held",
        name: "s3://stations/observations/2026-01-01/HAM02.csv",
        eventTime: T0 - 1_400 * HOUR,
        heldAt: T0 - 3 * HOUR,
        lateQueue: null,
      },
    ],
  },
  windows: Array.from({ length: 48 }, (_, index) => {
    const from = T0 - (47 - index) * HOUR;
    const status =
      index < 20 ? "complete" : index === 26 ? "problem" : index < 46 ? "open" : "future";
    const records = status === "future" ? 0 : 40 + ((index * 37) % 300);
    return {
      from,
      to: from + HOUR,
      status,
      records,
      recordsMore: false,
      deadLettered: status === "problem" ? 12 : 0,
      late: index === 22 ? 4 : 0,
      held: 0,
    };
  }),
};

export const FINDINGS = [
  {
    id: "TGD004",
    severity: "error",
    subject: `stations-events ${HOSTILE}`,
    message:
      "visibility timeout 30 s is shorter than the handler's 60 s, so messages are redelivered",
    fix: "Set VisibilityTimeout to at least 360.",
  },
  {
    id: "TGD011",
    severity: "warning",
    subject: "stations-dead-letters",
    message: "retention of 4 days is the same as that of the source queue",
    fix: "Set MessageRetentionPeriod to 14 days.",
  },
];

export function queuedMessage(seq: number, body: string, state = "visible") {
  return {
    seq,
    messageId: `00000000-0000-4000-8000-${String(seq).padStart(12, "0")}`,
    body,
    truncated: false,
    attributes: { [`note ${HOSTILE}`]: { type: "String", value: HOSTILE } },
    groupId: null,
    state,
    sentAt: T0 - seq * 1_000,
    dueAt: T0,
    receiveCount: 0,
    object: seq === 1 ? { bucket: "stations", key: HOSTILE_KEY } : null,
  };
}

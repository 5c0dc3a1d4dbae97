// Console views: every view of the page, as tests open it.

/** Each view with a text that only its data has, and what it says without data. */
export const CONSOLE_VIEWS = [
  { link: "#/flow", data: "1,180", api: /^\/flow$/, empty: "No pipeline yet" },
  { link: "#/records", data: "BER01.csv", api: /^\/records$/, empty: "No records yet" },
  {
    link: "#/records/k1%3Adead",
    data: "1 copy sent as new records",
    api: /^\/records\//,
    empty: null,
  },
  { link: "#/dead-letters", data: "9f2c01aa", api: /^\/dead-letters$/, empty: "No dead letters" },
  {
    link: "#/dead-letters/schema%3A9f2c01aa77b0c3d4",
    data: "pipeline.ts:72:11",
    api: /\/items$/,
    empty: "The group is empty",
  },
  { link: "#/queues", data: "stations-dead-letters", api: /^\/queues$/, empty: "No queues" },
  {
    link: "#/queues/stations-events",
    data: "VisibilityTimeout",
    api: /^\/queues\/[^/]+$/,
    empty: "No messages",
  },
  { link: "#/topics", data: "arn:aws:sns", api: /^\/topics$/, empty: "No topics" },
  { link: "#/buckets", data: "observations/", api: /^\/buckets$/, empty: "No buckets" },
  { link: "#/buckets/stations", data: "0b1c", api: /\/objects$/, empty: "Nothing here" },
  { link: "#/time", data: "holds the watermark", api: /^\/time$/, empty: "No windows yet" },
  { link: "#/replays", data: "5e9a1c00", api: /^\/replays$/, empty: "No replays" },
  {
    link: "#/replays/5e9a1c00-0000-7000-8000-000000000001",
    data: "temperature 14",
    api: /^\/replays\/[^/]+$/,
    empty: null,
  },
  { link: "#/audits", data: "incomplete", api: /^\/audits$/, empty: "No audits" },
  {
    link: "#/audits/0192a0d1-0000-7000-8000-000000000001",
    data: "9b74c9897bac770f",
    api: /^\/audits\/[^/]+$/,
    empty: null,
  },
  { link: "#/runs", data: "run-0192", api: /^\/runs$/, empty: "No runs" },
  { link: "#/setup", data: "TGD004", api: /^\/setup-check$/, empty: "No findings" },
] as const;

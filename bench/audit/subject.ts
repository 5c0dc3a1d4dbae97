// Subject: what the benchmark of audits fills and compares.

import { tables } from "../../src/index.ts";

export const BUCKET = "landing";
export const SCOPE = { pipeline: "bench", generation: 0 };
export const SINK = tables({ rows: { columns: { id: "text" }, key: ["id"] } });
export const TABLES = SINK.tables;

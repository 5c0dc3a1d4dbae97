// Defaults: what an action does unless its caller says otherwise, and what it lets its caller
// choose. Commands show them in their help.

/** Records that a list has. */
export const RECORDS_LIMIT = 100;
/** Records of each pipeline that a list of duplicates has. */
export const DUPLICATES_LIMIT = 10;

export { REDRIVE_DEFAULTS } from "../ingest/policy/redrive-stop.ts";
export { LINEAGE_FORMATS } from "../lineage/merge-documents.ts";

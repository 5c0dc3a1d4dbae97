// Defaults: what an action does unless its caller says otherwise. Commands show them in their help.

export { REDRIVE_DEFAULTS } from "../ingest/policy/redrive-stop.ts";

// Loads each file of its arguments in Node itself and prints the outcomes as one line of JSON.

import { loadPipeline } from "../../../src/run/open/load-pipeline.ts";

const outcomes: unknown[] = [];
for (const file of process.argv.slice(2)) {
  const outcome = await loadPipeline(file).then(
    ({ name, handler }) => ({ name, handled: String(handler(null as never, null as never)) }),
    ({ code, message }) => ({ code, message }),
  );
  outcomes.push(outcome);
}
console.log(JSON.stringify(outcomes));

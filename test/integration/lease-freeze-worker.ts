// A process that holds one lease on a lease thread and tells, whenever it is asked by a line on its
// input, whether it thinks that the lease is alive.

import { createInterface } from "node:readline";
import { startLeaseThread } from "../../src/run/leases/lease-thread.ts";

const { config, lease } = JSON.parse(process.argv[2] ?? "");
const keeper = await startLeaseThread({ telemetry: { log() {} } }, config);
const tell = (line: string) => process.stdout.write(`${line}\n`);
keeper.track(lease, () => tell("lost"));
createInterface({ input: process.stdin }).on("line", () => {
  tell(keeper.alive(lease.receipt) ? "alive" : "over");
});
tell("held");

// A process that holds one lease on a lease thread. For each line on its input it prints whether
// it considers the lease alive.

import { createInterface } from "node:readline";
import { startLeaseThread } from "../../../src/run/leases/lease-thread.ts";

const { config, lease } = JSON.parse(process.argv[2] ?? "");
const renewer = await startLeaseThread({ telemetry: { log() {} } }, config);
const print = (line: string) => process.stdout.write(`${line}\n`);
renewer.track(lease, () => print("lost"));
createInterface({ input: process.stdin }).on("line", () => {
  print(renewer.alive(lease.receipt) ? "alive" : "over");
});
print("held");

// /_tidegate/faults: shows, adds and clears the faults that were asked for.
//   F1. All faults of a request are taken, or none.
//   F2. A name that does not exist is refused: a misspelt fault would never strike, and a test that
//       rests on it would prove nothing.

import type { Broker } from "../../engine/broker.ts";
import type { FaultSpec } from "../../model/fault-plan.ts";
import type { ServerContext } from "../protocol/call.ts";
import { decodeUtf8 } from "../protocol/utf8.ts";
import { adminError, adminReply } from "./admin-reply.ts";
import { type AdminCall, adminRoute } from "./admin-route.ts";

export const faults = adminRoute({
  path: "faults",
  summary: "faults asked for; POST one or a list, DELETE clears",
  methods: {
    GET: ({ server }) => showFaults(server),
    POST: addFaults,
    DELETE: ({ server }) => {
      server.broker.faults.clear();
      return showFaults(server);
    },
  },
});

async function addFaults({ server, request }: AdminCall) {
  // Knows the names of all actions there are, S3's included, which are not loaded before need.
  const { FAULTS_MAX, readFaultSpecs } = await import("../faults/fault-specs.ts");
  const read = readFaultSpecs(parse(decodeUtf8(request.body)));
  if (!read.ok) return refused(read.fault);
  const plan = server.broker.faults;
  if (plan.size + read.value.length > FAULTS_MAX) {
    return refused([`There would be more than ${FAULTS_MAX} faults; DELETE clears them.`]);
  }
  const missing = (await Promise.all(read.value.map((spec) => missingTarget(server, spec)))).filter(
    (problem) => problem !== null,
  );
  if (missing.length > 0) return refused(missing); // F2
  for (const spec of read.value) plan.put(spec); // F1
  return showFaults(server);
}

function showFaults(server: ServerContext) {
  return adminReply(200, { faults: server.broker.faults.view() });
}

function refused(problems: readonly string[]) {
  return adminError(400, "InvalidFault", problems.join(" "));
}

/** Undefined, which is no fault, stands for what is no JSON. */
function parse(text: string | null): unknown {
  try {
    return text === null ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function missingTarget(
  { broker }: ServerContext,
  { target }: FaultSpec,
): Promise<string | null> {
  const [kind = "", name = ""] = Object.entries(target)[0] ?? [];
  if (name === "*") return null;
  const there = await exists(broker, target, name);
  return there ? null : `There is no ${kind} named ${JSON.stringify(name)}.`;
}

async function exists(broker: Broker, target: FaultSpec["target"], name: string): Promise<boolean> {
  if ("queue" in target) return (await broker.submit("findQueue", { queue: name })).ok;
  if ("topic" in target) return (await broker.submit("getTopicAttributes", { topic: name })).ok;
  return (await broker.submit("findBucket", { bucket: name })).ok;
}

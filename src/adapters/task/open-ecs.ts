// Open ECS: the launcher of Amazon ECS with its clients.

import { systemClock } from "../../platform/system-clock.ts";
import type { TaskLauncher } from "../../ports/task-launcher.ts";
import { openAwsObjects } from "../../run/open/aws-environment.ts";
import { clientOptions, type Server } from "../../run/open/find-server.ts";
import { createEcsLauncher, type EcsSettings, loadEcs } from "./ecs-launcher.ts";

/** `server` has SQS and S3; ECS has its own endpoint, from the variables of the AWS SDK. */
export async function openEcsLauncher(
  server: Server,
  settings: EcsSettings,
): Promise<TaskLauncher> {
  const sdk = await loadEcs();
  const client = new sdk.ECSClient(clientOptions("ECS", { region: server.region, cloud: null }));
  const objects = settings.results === null ? null : await openAwsObjects(server);
  return createEcsLauncher(sdk, { clock: systemClock, client, objects }, settings);
}

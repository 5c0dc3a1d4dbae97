// Open ECS: the launcher of Amazon ECS with its clients.

import { systemClock } from "../../platform/system-clock.ts";
import type { TaskLauncher } from "../../ports/task-launcher.ts";
import { clientOptions, openAwsObjects } from "../../run/open/aws-environment.ts";
import { createEcsLauncher, type EcsSettings, loadEcs } from "./ecs-launcher.ts";

/** `endpoint` is the one of SQS and S3; ECS has its own, from the variables of the AWS SDK. */
export async function openEcsLauncher(
  { endpoint, region }: { readonly endpoint?: string; readonly region?: string },
  settings: EcsSettings,
): Promise<TaskLauncher> {
  const sdk = await loadEcs();
  const { endpoint: _, ...at } = { endpoint, region };
  const client = new sdk.ECSClient(clientOptions("ECS", at));
  const objects =
    settings.results === null
      ? null
      : await openAwsObjects({ ...at, ...(endpoint !== undefined && { endpoint }) });
  return createEcsLauncher(sdk, { clock: systemClock, client, objects }, settings);
}

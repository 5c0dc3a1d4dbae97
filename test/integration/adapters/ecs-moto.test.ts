// The ECS launcher with the real AWS SDK against moto, an independent implementation of ECS. moto
// runs no containers: a task moves one state further each time it is described.

import * as sdk from "@aws-sdk/client-ecs";
import { describe, expect, test } from "vitest";
import { createEcsLauncher } from "../../../src/adapters/task/ecs-launcher.ts";
import { durationMs } from "../../../src/core/units.ts";
import { systemClock } from "../../../src/platform/system-clock.ts";
import { useForeignServer } from "../../support/foreign/foreign-servers.ts";

const NEVER = new AbortController().signal;
const endpoint = await useForeignServer("moto");

describe.skipIf(endpoint === null)("the launcher of ECS tasks, on moto", () => {
  const credentials = { accessKeyId: "any", secretAccessKey: "any" };
  const client = new sdk.ECSClient({ endpoint: endpoint ?? "", region: "us-east-1", credentials });
  const launcherOf = (taskDefinition: string) =>
    createEcsLauncher(
      sdk,
      { clock: systemClock, client, objects: null },
      {
        cluster: "jobs",
        taskDefinition,
        container: "main",
        subnets: ["subnet-1"],
        securityGroups: [],
        assignPublicIp: false,
        launchType: "FARGATE",
        words: ["./download.sh"],
        results: null,
        pollMs: durationMs(10),
      },
    );
  const request = (name: string) => ({ name, fence: 1, event: '{"n":1}', variables: {} });

  test("RunTask, ListTasks, DescribeTasks, TagResource and StopTask are accepted and answer", async () => {
    await client.send(new sdk.CreateClusterCommand({ clusterName: "jobs" }));
    const containerDefinitions = [{ name: "main", image: "any", memory: 128 }];
    await client.send(
      new sdk.RegisterTaskDefinitionCommand({ family: "download", containerDefinitions }),
    );
    const first = await launcherOf("download").start(request("tg-first"));
    expect(first.id).toMatch(/:task\/jobs\//);
    const adopted = await launcherOf("download").find("tg-first", 2);
    expect(adopted?.id).toBe(first.id);
    await adopted?.stop("the lease is lost");
    const { tasks = [] } = await client.send(
      new sdk.DescribeTasksCommand({ cluster: "jobs", tasks: [first.id], include: ["TAGS"] }),
    );
    expect(tasks[0]).toMatchObject({ startedBy: "tg-first", stoppedReason: "the lease is lost" });
    expect(tasks[0]?.tags).toContainEqual({ key: "tidegate-fence", value: "2" });
  });

  test("waiting for a task ends when ECS says that it stopped", async () => {
    const task = await launcherOf("download").start(request("tg-second"));
    expect(await task.wait(NEVER)).toEqual({ kind: "exited", code: 0 });
  });

  test("a task definition that does not exist is a failure that is not temporary", async () => {
    await expect(launcherOf("absent").start(request("tg-third"))).rejects.toMatchObject({
      name: "TaskNotStarted",
      temporary: false,
      message: expect.stringContaining("RunTask failed: ClientException"),
    });
  });
});

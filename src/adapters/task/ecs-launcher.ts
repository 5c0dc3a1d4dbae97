// ECS launcher: runs tasks in a cluster of Amazon ECS.
//   E1. RunTask answers with HTTP 200 even if no task was placed: `failures` is read. Lack of
//       capacity is temporary (H4 of task-handler.ts); anything else fails the attempt.
//   E2. A repeated RunTask with the same token does not start a second task, so that a lost answer
//       is harmless. The token is made of name and fence.
//   E3. `startedBy` is the name of the record's task: a dispatcher finds tasks that another one
//       started. The fence that owns a task is a tag of it.
//   E4. The event travels as an environment variable. ECS accepts 8,192 characters of overrides; a
//       larger event fails with a sentence that says so.
//   E5. ECS remembers a stopped task for an hour. A task whose end was handled is marked, so that
//       the next attempt does not take its exit code for its own.
//   E6. One request describes up to a hundred tasks, and all waits share it.

import type { ECSClient, Task as EcsTask, Failure } from "@aws-sdk/client-ecs";
import { TidegateError } from "../../core/errors.ts";
import { type DurationMs, seconds } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ObjectSource } from "../../ports/objects/object-source.ts";
import type { Task, TaskEnd, TaskLauncher, TaskRequest } from "../../ports/task-launcher.ts";
import { createEcsPoller, type EcsPoller } from "./ecs-poller.ts";
import { TaskNotStarted } from "./task-not-started.ts";
import { splitLines } from "./task-result.ts";

export interface EcsSettings {
  readonly cluster: string;
  readonly taskDefinition: string;
  /** The container that gets the event; its exit code is the task's. */
  readonly container: string;
  readonly launchType?: string | undefined;
  readonly subnets: readonly string[];
  readonly securityGroups: readonly string[];
  readonly assignPublicIp: boolean;
  /** Replaces the command of the image; empty keeps it. */
  readonly words: readonly string[];
  /** `s3://bucket/prefix` below which tasks write results; null if they write none. */
  readonly results: string | null;
  readonly pollMs?: DurationMs;
}

export interface EcsPorts {
  readonly clock: Clock;
  readonly client: ECSClient;
  readonly objects: ObjectSource | null;
}

const OVERRIDES_CHARS_MAX = 8_192;
const REASON_CHARS_MAX = 255;
const POLL_MS: DurationMs = seconds(5);
const FENCE_TAG = "tidegate-fence";
/** The fence of the attempt that started the task, which names its result. */
const START_TAG = "tidegate-start";
const HANDLED_TAG = "tidegate-handled";
/** Handled tasks that are remembered, in case that a tag could not be written (E5). */
const HANDLED_MAX = 10_000;
/** Pages of stopped tasks that are searched for one of a name. */
const STOPPED_PAGES_MAX = 5;
const TEMPORARY = /RESOURCE|CAPACITY|Capacity|AGENT|ATTRIBUTE|Throttl|ServerException|timed? ?out/i;

type Sdk = typeof import("@aws-sdk/client-ecs");

/** Loads the SDK; if it is missing, the error names the package to install. */
export async function loadEcs(): Promise<Sdk> {
  try {
    return await import("@aws-sdk/client-ecs");
  } catch (error) {
    if ((error as { code?: string }).code !== "ERR_MODULE_NOT_FOUND") throw error;
    const message = "--launcher ecs needs the AWS SDK: npm install @aws-sdk/client-ecs";
    throw new TidegateError("TG_CONFIG_INVALID", message, { cause: error });
  }
}

export function createEcsLauncher(sdk: Sdk, ports: EcsPorts, settings: EcsSettings): TaskLauncher {
  const { clock, client } = ports;
  const { cluster, pollMs = POLL_MS } = settings;
  const describe = async (tasks: string[]) =>
    client.send(new sdk.DescribeTasksCommand({ cluster, tasks, include: ["TAGS"] }));
  const poller = createEcsPoller(clock, { describe, pollMs });
  const handled = new Set<string>();
  const tag = async (arn: string, key: string, value: string) => {
    const command = new sdk.TagResourceCommand({ resourceArn: arn, tags: [{ key, value }] });
    await client.send(command).catch(() => undefined); // Hints, not locks: fences decide.
  };
  const taskOf = (arn: string, about: EcsTaskFacts): Task => ({
    ...ecsTask(sdk, { ...ports, poller }, settings, { arn, ...about }),
    async forget() {
      if (handled.size >= HANDLED_MAX) handled.clear();
      handled.add(arn); // E5
      await tag(arn, HANDLED_TAG, "true");
    },
  });

  return {
    async find(name, fence) {
      const existing = await findTask(sdk, ports, settings, name);
      const arn = existing?.taskArn ?? "";
      if (existing === null || handled.has(arn) || tagOf(existing, HANDLED_TAG) !== null) {
        return null;
      }
      const owner = Number(tagOf(existing, FENCE_TAG) ?? 0);
      if (owner < fence) await tag(arn, FENCE_TAG, String(fence)); // E3
      const start = Number(tagOf(existing, START_TAG) ?? fence);
      return taskOf(arn, { name, fence, start });
    },
    async start(request) {
      const arn = await startTask(sdk, ports, settings, request);
      const { name, fence } = request;
      return taskOf(arn, { name, fence, start: fence });
    },
  };
}

function tagOf({ tags = [] }: EcsTask, name: string): string | null {
  return tags.find(({ key }) => key === name)?.value ?? null;
}

async function startTask(
  sdk: Sdk,
  { client }: EcsPorts,
  settings: EcsSettings,
  request: TaskRequest,
): Promise<string> {
  const { name, fence } = request;
  const overrides = overridesOf(settings, request);
  const length = JSON.stringify(overrides).length;
  if (length > OVERRIDES_CHARS_MAX) {
    const limit = `ECS accepts ${OVERRIDES_CHARS_MAX} characters`;
    const message = `the event needs overrides of ${length} characters, but ${limit}`;
    throw new TaskNotStarted(message, { temporary: false }); // E4
  }
  const { subnets, securityGroups, assignPublicIp } = settings;
  const awsvpcConfiguration = {
    subnets: [...subnets],
    securityGroups: [...securityGroups],
    assignPublicIp: assignPublicIp ? ("ENABLED" as const) : ("DISABLED" as const),
  };
  const command = new sdk.RunTaskCommand({
    cluster: settings.cluster,
    taskDefinition: settings.taskDefinition,
    count: 1,
    startedBy: name, // E3
    clientToken: `${name}-${fence}`.slice(0, 64), // E2
    tags: [FENCE_TAG, START_TAG].map((key) => ({ key, value: String(fence) })),
    overrides,
    ...(settings.launchType !== undefined && { launchType: settings.launchType as "FARGATE" }),
    ...(subnets.length > 0 && { networkConfiguration: { awsvpcConfiguration } }),
  });
  let answer: { tasks?: EcsTask[] | undefined; failures?: Failure[] | undefined };
  try {
    answer = await client.send(command);
  } catch (error) {
    const { name: code = "", message = "" } = error as Error;
    const options = { temporary: TEMPORARY.test(code) || isConnection(error), cause: error };
    throw new TaskNotStarted(`RunTask failed: ${code}: ${message}`, options);
  }
  const arn = answer.tasks?.[0]?.taskArn;
  if (arn !== undefined) return arn;
  const reasons = (answer.failures ?? []).map(({ reason = "", detail }) =>
    detail === undefined ? reason : `${reason} (${detail})`,
  );
  const reason = reasons.length === 0 ? "no task and no reason" : reasons.join("; ");
  const temporary = TEMPORARY.test(reason);
  throw new TaskNotStarted(`RunTask started no task: ${reason}`, { temporary }); // E1
}

/** No answer: the connection failed, or the service did. */
function isConnection(error: unknown): boolean {
  const status = (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode;
  return status === undefined || status >= 500 || status === 429;
}

function overridesOf(settings: EcsSettings, { name, fence, event, variables }: TaskRequest) {
  const results = resultUrl(settings, name, fence);
  const all = {
    ...variables,
    TIDEGATE_EVENT: event,
    ...(results !== null && { TIDEGATE_RESULT_URL: results }),
  };
  const environment = Object.entries(all).map(([key, value]) => ({ name: key, value }));
  const command = settings.words.length === 0 ? {} : { command: [...settings.words] };
  return { containerOverrides: [{ name: settings.container, environment, ...command }] };
}

/** Another one for every task, so that none reads the result of a failed one. */
function resultUrl({ results }: EcsSettings, name: string, start: number): string | null {
  return results === null ? null : `${results.replace(/\/$/, "")}/${name}/${start}.jsonl`;
}

/** The newest task of that name: running, or stopped within the hour that ECS remembers it. */
async function findTask(
  sdk: Sdk,
  { client }: EcsPorts,
  { cluster, taskDefinition }: EcsSettings,
  name: string,
): Promise<EcsTask | null> {
  const describe = async (tasks: string[]) => {
    if (tasks.length === 0) return [];
    const command = new sdk.DescribeTasksCommand({ cluster, tasks, include: ["TAGS"] });
    return (await client.send(command)).tasks ?? [];
  };
  const running = await client.send(new sdk.ListTasksCommand({ cluster, startedBy: name }));
  const [first] = await describe(running.taskArns ?? []);
  if (first !== undefined) return first;
  const family = taskDefinition.split("/").at(-1)?.split(":")[0];
  let nextToken: string | undefined;
  for (let page = 0; page < STOPPED_PAGES_MAX; page += 1) {
    const filter = { cluster, family, desiredStatus: "STOPPED" as const, nextToken };
    const answer = await client.send(new sdk.ListTasksCommand(filter));
    const tasks = await describe(answer.taskArns ?? []);
    const ended = tasks.filter(({ startedBy }) => startedBy === name).toSorted(byStart)[0];
    if (ended !== undefined) return ended;
    nextToken = answer.nextToken;
    if (nextToken === undefined) break;
  }
  return null;
}

function byStart({ createdAt: a }: EcsTask, { createdAt: b }: EcsTask): number {
  return (b?.getTime() ?? 0) - (a?.getTime() ?? 0);
}

interface EcsTaskFacts {
  readonly name: string;
  /** The attempt that waits for it. */
  readonly fence: number;
  /** The attempt that started it. */
  readonly start: number;
}

function ecsTask(
  sdk: Sdk,
  { client, objects, poller }: EcsPorts & { readonly poller: EcsPoller },
  settings: EcsSettings,
  { arn, name, fence, start }: EcsTaskFacts & { readonly arn: string },
): Omit<Task, "forget"> {
  const { cluster, container } = settings;
  return {
    id: arn,
    async wait(signal) {
      return endOf(await poller.untilStopped(arn, signal), container);
    },
    async stop(reason) {
      const task = await poller.look(arn);
      if (task === null || Number(tagOf(task, FENCE_TAG) ?? 0) > fence) return; // K3
      const text = reason.slice(0, REASON_CHARS_MAX);
      await client.send(new sdk.StopTaskCommand({ cluster, task: arn, reason: text }));
    },
    result: () => readResult(objects, resultUrl(settings, name, start)),
  };
}

function endOf(task: EcsTask | null, container: string): TaskEnd {
  if (task === null) return { kind: "vanished", reason: "ECS does not know it any more" };
  const all = task.containers ?? [];
  const own = all.find(({ name }) => name === container) ?? all[0];
  if (own?.exitCode !== undefined) return { kind: "exited", code: own.exitCode };
  const reason = own?.reason ?? task.stoppedReason ?? "it stopped without an exit code";
  return { kind: "vanished", reason };
}

async function* readResult(objects: ObjectSource | null, url: string | null) {
  const [, bucket = "", key = ""] = /^s3:\/\/([^/]+)\/(.+)$/.exec(url ?? "") ?? [];
  if (objects === null || bucket === "") return;
  const pin = { bucket, key, versionId: null, etag: null };
  const { signal } = new AbortController();
  const opened = await objects.open(pin, signal);
  if (opened.kind === "missing") return;
  if (opened.kind !== "opened") {
    throw new TidegateError("TG_OBJECTS_UNAVAILABLE", `${url}: the result is ${opened.kind}`);
  }
  const decoder = new TextDecoder();
  yield* splitLines(
    (async function* () {
      for await (const chunk of opened.bytes.stream(signal)) {
        yield decoder.decode(chunk, { stream: true });
      }
      yield decoder.decode();
    })(),
  );
}

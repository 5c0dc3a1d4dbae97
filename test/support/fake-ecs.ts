// Fake ECS: a small server that plays the five actions of ECS that the launcher calls, for the real
// AWS SDK. A test decides how each task ends.
//   E1. As on AWS: RunTask answers 200 with `failures` if it places no task, a repeated client token
//       returns the same task, ListTasks by startedBy returns running tasks only, and a task that
//       stopped is still described.

import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";

interface Tag {
  readonly key: string;
  readonly value: string;
}

export interface FakeTask {
  readonly taskArn: string;
  readonly startedBy: string;
  readonly clientToken: string;
  readonly family: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly command: readonly string[];
  tags: Tag[];
  lastStatus: "RUNNING" | "STOPPED";
  exitCode: number | null;
  stoppedReason: string | null;
}

export interface FakeEcs extends AsyncDisposable {
  readonly endpoint: string;
  readonly tasks: FakeTask[];
  /** Names of the actions that were called, in order. */
  readonly calls: string[];
  /** Answers of the next RunTask calls: reasons of failures, or errors with a code. */
  readonly failures: { readonly reason?: string; readonly error?: string }[];
  stop(task: FakeTask, exitCode: number | null, reason?: string): void;
}

type Input = Record<string, never> & {
  readonly startedBy?: string;
  readonly clientToken?: string;
  readonly taskDefinition?: string;
  readonly tags?: Tag[];
  readonly overrides?: {
    readonly containerOverrides: {
      readonly environment: { readonly name: string; readonly value: string }[];
      readonly command?: string[];
    }[];
  };
  readonly desiredStatus?: string;
  readonly family?: string;
  readonly tasks?: string[];
  readonly task?: string;
  readonly reason?: string;
  readonly resourceArn?: string;
};

async function bodyOf(request: IncomingMessage): Promise<Input> {
  let text = "";
  for await (const chunk of request) text += chunk;
  return JSON.parse(text || "{}");
}

const shown = (task: FakeTask) => ({
  taskArn: task.taskArn,
  startedBy: task.startedBy,
  tags: task.tags,
  lastStatus: task.lastStatus,
  ...(task.stoppedReason !== null && { stoppedReason: task.stoppedReason }),
  containers: [{ name: "main", ...(task.exitCode !== null && { exitCode: task.exitCode }) }],
});

type RunFailure = FakeEcs["failures"][number];

/** The cluster: its tasks, and what each action does with them. */
class Cluster {
  readonly tasks: FakeTask[] = [];
  readonly failures: RunFailure[] = [];

  readonly actions: Readonly<Record<string, (input: Input) => object>> = {
    RunTask: (input) => this.#run(input),
    ListTasks: (input) => this.#list(input),
    DescribeTasks: (input) => this.#describe(input),
    StopTask: ({ task: arn, reason = "" }) => {
      const task = this.#of(arn);
      if (task?.lastStatus === "RUNNING") this.stop(task, 143, reason);
      return {};
    },
    TagResource: ({ resourceArn, tags = [] }) => {
      const task = this.#of(resourceArn);
      const changed = new Set(tags.map(({ key }) => key));
      const others = task?.tags.filter(({ key }) => !changed.has(key)) ?? [];
      if (task !== undefined) task.tags = [...others, ...tags];
      return {};
    },
  };

  stop(task: FakeTask, exitCode: number | null, reason: string | null = null): void {
    Object.assign(task, { lastStatus: "STOPPED", exitCode, stoppedReason: reason });
  }

  #of(arn: string | undefined): FakeTask | undefined {
    return this.tasks.find(({ taskArn }) => taskArn === arn);
  }

  #run(input: Input) {
    const same = this.tasks.find(({ clientToken }) => clientToken === input.clientToken);
    if (same !== undefined) return { tasks: [shown(same)], failures: [] }; // E1
    const { reason } = this.failures.shift() ?? {};
    if (reason !== undefined) return { tasks: [], failures: [{ arn: "instance", reason }] };
    const [override] = input.overrides?.containerOverrides ?? [];
    const pairs = override?.environment.map(({ name, value }) => [name, value] as const) ?? [];
    const task: FakeTask = {
      taskArn: `arn:aws:ecs:us-east-1:000000000000:task/jobs/${this.tasks.length + 1}`,
      startedBy: input.startedBy ?? "",
      clientToken: input.clientToken ?? "",
      family: (input.taskDefinition ?? "").split(":")[0] ?? "",
      environment: Object.fromEntries(pairs),
      command: override?.command ?? [],
      tags: input.tags ?? [],
      lastStatus: "RUNNING",
      exitCode: null,
      stoppedReason: null,
    };
    this.tasks.push(task);
    return { tasks: [shown(task)], failures: [] };
  }

  #list({ startedBy, family, desiredStatus = "RUNNING" }: Input) {
    const fits = this.tasks.filter(
      (task) =>
        task.lastStatus === desiredStatus &&
        (startedBy === undefined || task.startedBy === startedBy) &&
        (family === undefined || task.family === family),
    );
    return { taskArns: fits.map(({ taskArn }) => taskArn) };
  }

  #describe({ tasks: arns = [] }: Input) {
    const missing = arns.filter((arn) => this.#of(arn) === undefined);
    return {
      tasks: this.tasks.filter(({ taskArn }) => arns.includes(taskArn)).map(shown),
      failures: missing.map((arn) => ({ arn, reason: "MISSING" })),
    };
  }
}

export async function startFakeEcs(): Promise<FakeEcs> {
  const cluster = new Cluster();
  const calls: string[] = [];
  const server: Server = createServer(async (request, reply) => {
    const action = String(request.headers["x-amz-target"]).split(".").at(-1) ?? "";
    calls.push(action);
    const input = await bodyOf(request);
    const error = action === "RunTask" ? cluster.failures[0]?.error : undefined;
    if (error !== undefined) cluster.failures.shift();
    const answer =
      error === undefined ? cluster.actions[action]?.(input) : { __type: error, message: "no" };
    reply.writeHead(error === undefined && answer !== undefined ? 200 : 400, {
      "content-type": "application/x-amz-json-1.1",
    });
    reply.end(JSON.stringify(answer ?? { __type: "UnknownOperationException" }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    tasks: cluster.tasks,
    failures: cluster.failures,
    calls,
    stop: (task, exitCode, reason) => cluster.stop(task, exitCode, reason),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

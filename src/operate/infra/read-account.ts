// Read account: roles, key, alarms and compute of a pipeline, from the APIs of AWS.
//   N1. Only reads; what does not exist is null, and any other refusal is an error.
//   N2. The SDK clients are optional: the error names what to install.

import type { IAMClient } from "@aws-sdk/client-iam";
import { TidegateError } from "../../core/errors.ts";
import type {
  LiveAccount,
  LiveAlarm,
  LiveKey,
  LiveMapping,
  LiveService,
} from "../../infra/account-diff.ts";
import { alarmsOf } from "../../infra/alarm-table.ts";
import type { IamRole } from "../../infra/iam-table.ts";
import type { InfraPlan } from "../../infra/infra-plan.ts";
import { clientConfig, type LiveOptions, unlessMissing } from "./read-live.ts";

const PACKAGES = ["iam", "kms", "cloudwatch", "lambda", "ecs"]
  .map((name) => `@aws-sdk/client-${name}`)
  .join(" ");

export interface AccountOptions extends LiveOptions {
  /** Cluster of the ECS service. */
  readonly cluster?: string | undefined;
}

/** Reads what the plan names in the account and region of its queue. */
export async function readAccount(
  plan: InfraPlan,
  queueArn: string,
  options: AccountOptions,
): Promise<LiveAccount> {
  const [, partition = "aws", , region = "", account = ""] = queueArn.split(":");
  const sdk = await loadSdk();
  const { stem } = plan;
  const config = (service: Parameters<typeof clientConfig>[0]) => ({
    ...clientConfig(service, options),
    region,
  });
  const iam = new sdk.IAMClient(config("IAM"));
  const role = (name: IamRole) => readRole(sdk, iam, `${stem}-${name}`);
  try {
    return {
      partition,
      region,
      account,
      roles: {
        consumer: await role("consumer"),
        producer: await role("producer"),
        operator: await role("operator"),
      },
      key: plan.kms ? await readKey(sdk, config("KMS"), `alias/${stem}`) : null,
      alarms: plan.alarms ? await readAlarms(sdk, config("CLOUDWATCH"), plan) : {},
      mapping:
        plan.compute === "lambda" ? await readMapping(sdk, config("LAMBDA"), queueArn) : null,
      service:
        plan.compute === "ecs"
          ? await readService(sdk, config("ECS"), stem, options.cluster)
          : null,
    };
  } finally {
    iam.destroy();
  }
}

type Sdk = Awaited<ReturnType<typeof loadSdk>>;
type Config = ReturnType<typeof clientConfig>;

async function loadSdk() {
  try {
    const [iam, kms, cloudwatch, lambda, ecs] = await Promise.all([
      import("@aws-sdk/client-iam"),
      import("@aws-sdk/client-kms"),
      import("@aws-sdk/client-cloudwatch"),
      import("@aws-sdk/client-lambda"),
      import("@aws-sdk/client-ecs"),
    ]);
    return { ...ecs, ...lambda, ...cloudwatch, ...kms, ...iam };
  } catch (error) {
    if ((error as { code?: string }).code !== "ERR_MODULE_NOT_FOUND") throw error;
    const message = `infra diff --account needs more of the AWS SDK: npm install ${PACKAGES}`; // N2
    throw new TidegateError("TG_CONFIG_INVALID", message, { cause: error });
  }
}

/** Inline policies, and attached ones in their default version. */
async function readRole(sdk: Sdk, iam: IAMClient, name: string): Promise<string[] | null> {
  const RoleName = name;
  return unlessMissing(`the role ${name}`, ["NoSuchEntityException"], async () => {
    const policies: string[] = [];
    for await (const { PolicyNames = [] } of sdk.paginateListRolePolicies(
      { client: iam },
      { RoleName },
    )) {
      for (const PolicyName of PolicyNames) {
        const command = new sdk.GetRolePolicyCommand({ RoleName, PolicyName });
        policies.push(decodeURIComponent((await iam.send(command)).PolicyDocument ?? ""));
      }
    }
    for await (const { AttachedPolicies = [] } of sdk.paginateListAttachedRolePolicies(
      { client: iam },
      { RoleName },
    )) {
      for (const { PolicyArn } of AttachedPolicies) {
        const { Policy } = await iam.send(new sdk.GetPolicyCommand({ PolicyArn }));
        const VersionId = Policy?.DefaultVersionId;
        const version = await iam.send(new sdk.GetPolicyVersionCommand({ PolicyArn, VersionId }));
        policies.push(decodeURIComponent(version.PolicyVersion?.Document ?? ""));
      }
    }
    return policies;
  });
}

async function readKey(sdk: Sdk, config: Config, alias: string): Promise<LiveKey | null> {
  const client = new sdk.KMSClient(config);
  try {
    return await unlessMissing(`the key ${alias}`, ["NotFoundException"], async () => {
      const { KeyMetadata } = await client.send(new sdk.DescribeKeyCommand({ KeyId: alias }));
      const { KeyId = "", Arn = "", Enabled = false } = KeyMetadata ?? {};
      const { Policy } = await client.send(
        new sdk.GetKeyPolicyCommand({ KeyId, PolicyName: "default" }),
      );
      const rotation = await client.send(new sdk.GetKeyRotationStatusCommand({ KeyId }));
      return {
        arn: Arn,
        enabled: Enabled,
        rotated: rotation.KeyRotationEnabled === true,
        policy: Policy,
      };
    });
  } finally {
    client.destroy();
  }
}

async function readAlarms(
  sdk: Sdk,
  config: Config,
  plan: InfraPlan,
): Promise<LiveAccount["alarms"]> {
  const client = new sdk.CloudWatchClient(config);
  const AlarmNames = alarmsOf(plan).map(({ name }) => `${plan.stem}-${name}`);
  try {
    const answer = await unlessMissing("the alarms", [], () =>
      client.send(new sdk.DescribeAlarmsCommand({ AlarmNames })),
    );
    const { MetricAlarms = [] } = answer ?? {};
    return Object.fromEntries(
      MetricAlarms.map((alarm) => [alarm.AlarmName ?? "", liveAlarmOf(alarm)]),
    );
  } finally {
    client.destroy();
  }
}

type MetricAlarm = import("@aws-sdk/client-cloudwatch").MetricAlarm;

/** An alarm of one metric has it at the top, any other one in a list of queries. */
function liveAlarmOf(alarm: MetricAlarm): LiveAlarm {
  const queries = alarm.Metrics ?? [];
  const stats = queries.flatMap(({ MetricStat }) => (MetricStat ? [MetricStat] : []));
  const metrics = alarm.MetricName
    ? [{ MetricName: alarm.MetricName, Dimensions: alarm.Dimensions ?? [] }]
    : stats.map(({ Metric }) => Metric);
  return {
    metrics: metrics.map((metric) => metric?.MetricName ?? ""),
    dimensions: metrics.flatMap((metric) =>
      (metric?.Dimensions ?? []).map(({ Value = "" }) => Value),
    ),
    expression: queries.find(({ Expression }) => Expression)?.Expression,
    statistic: alarm.Statistic ?? stats[0]?.Stat,
    operator: alarm.ComparisonOperator,
    threshold: alarm.Threshold,
    periodSeconds: alarm.Period ?? stats[0]?.Period,
    periods: alarm.EvaluationPeriods,
    missingData: alarm.TreatMissingData,
  };
}

async function readMapping(
  sdk: Sdk,
  config: Config,
  queueArn: string,
): Promise<LiveMapping | null> {
  const client = new sdk.LambdaClient(config);
  try {
    return await unlessMissing("the event source mapping", [], async () => {
      const list = new sdk.ListEventSourceMappingsCommand({ EventSourceArn: queueArn });
      const [mapping] = (await client.send(list)).EventSourceMappings ?? [];
      if (mapping === undefined) return null;
      const { FunctionArn, FunctionResponseTypes = [], State = "" } = mapping;
      const command = new sdk.GetFunctionConfigurationCommand({ FunctionName: FunctionArn });
      const running = await client.send(command);
      return {
        enabled: /^(Enabl|Creat|Updat)/.test(State),
        responseTypes: FunctionResponseTypes,
        timeoutSeconds: running.Timeout,
      };
    });
  } finally {
    client.destroy();
  }
}

async function readService(
  sdk: Sdk,
  config: Config,
  name: string,
  cluster: string | undefined,
): Promise<LiveService | null> {
  const client = new sdk.ECSClient(config);
  const missing = ["ClusterNotFoundException", "ServiceNotFoundException"];
  try {
    return await unlessMissing(`the service ${name}`, missing, async () => {
      const describe = new sdk.DescribeServicesCommand({ cluster, services: [name] });
      const [service] = (await client.send(describe)).services ?? [];
      if (service === undefined) return null;
      const { taskDefinition, status } = service;
      const answer = await client.send(new sdk.DescribeTaskDefinitionCommand({ taskDefinition }));
      const [container] = answer.taskDefinition?.containerDefinitions ?? [];
      return {
        active: status === "ACTIVE",
        taskRole: answer.taskDefinition?.taskRoleArn,
        environment: Object.fromEntries(
          (container?.environment ?? []).map(({ name: key = "", value = "" }) => [key, value]),
        ),
      };
    });
  } finally {
    client.destroy();
  }
}

// View of: the view that a route names.

import type { ApiSchema } from "../../api/api-schema.ts";
import { linkTo, type Route } from "../data/route.ts";
import type { Loaded } from "../data/use-load.ts";
import { Empty } from "../parts/notices.tsx";
import { BucketsScreen } from "../views/cloud/buckets.tsx";
import { ObjectsScreen } from "../views/cloud/objects.tsx";
import { QueueScreen } from "../views/cloud/queue.tsx";
import { QueuesScreen } from "../views/cloud/queues.tsx";
import { TopicsScreen } from "../views/cloud/topics.tsx";
import { DeadLetterGroupScreen } from "../views/dead-letters/dead-letter-group.tsx";
import { DeadLettersScreen } from "../views/dead-letters/dead-letters.tsx";
import { FlowScreen } from "../views/flow.tsx";
import { JobScreen } from "../views/job.tsx";
import { AuditScreen } from "../views/past/audit.tsx";
import { AuditsScreen } from "../views/past/audits.tsx";
import { ReplayScreen } from "../views/past/replay.tsx";
import { ReplaysScreen } from "../views/past/replays.tsx";
import { RunsScreen } from "../views/past/runs.tsx";
import { RecordScreen } from "../views/record.tsx";
import { RecordsScreen } from "../views/records.tsx";
import { SetupCheckScreen } from "../views/setup-check.tsx";
import { TimeScreen } from "../views/time.tsx";

interface ViewOfProps {
  readonly route: Route;
  readonly flow: Loaded<ApiSchema["Flow"]>;
}

export function ViewOf({ route, flow }: ViewOfProps) {
  const [view = "flow", item] = route.path;
  switch (view) {
    case "flow":
      return <FlowScreen loaded={flow} />;
    case "records":
      return item === undefined ? <RecordsScreen /> : <RecordScreen key={item} recordKey={item} />;
    case "dead-letters":
      return item === undefined ? (
        <DeadLettersScreen />
      ) : (
        <DeadLetterGroupScreen key={item} group={item} />
      );
    case "jobs":
      return <JobScreen key={item} job={item ?? ""} />;
    case "time":
      return <TimeScreen />;
    case "replays":
      return item === undefined ? <ReplaysScreen /> : <ReplayScreen key={item} run={item} />;
    case "audits":
      return item === undefined ? <AuditsScreen /> : <AuditScreen key={item} id={item} />;
    case "runs":
      return <RunsScreen />;
    case "queues":
      return item === undefined ? <QueuesScreen /> : <QueueScreen key={item} name={item} />;
    case "topics":
      return <TopicsScreen />;
    case "buckets":
      return item === undefined ? <BucketsScreen /> : <ObjectsScreen key={item} bucket={item} />;
    case "setup":
      return <SetupCheckScreen />;
    default:
      return (
        <Empty title={`"${view}" is not a view`}>
          The link may be old. <a href={linkTo(["flow"])}>Open the flow</a>.
        </Empty>
      );
  }
}

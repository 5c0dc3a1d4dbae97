// View of: the view that a route names.

import type { ApiSchema } from "../data/api-schema.ts";
import { linkTo, type Route } from "../data/route.ts";
import type { Loaded } from "../data/use-load.ts";
import { Empty } from "../parts/notices.tsx";
import { AuditScreen } from "../views/audit.tsx";
import { AuditsScreen } from "../views/audits.tsx";
import { BucketsScreen } from "../views/buckets.tsx";
import { DeadLetterGroupScreen } from "../views/dead-letter-group.tsx";
import { DeadLettersScreen } from "../views/dead-letters.tsx";
import { FlowScreen } from "../views/flow.tsx";
import { JobScreen } from "../views/job.tsx";
import { ObjectsScreen } from "../views/objects.tsx";
import { QueueScreen } from "../views/queue.tsx";
import { QueuesScreen } from "../views/queues.tsx";
import { RecordScreen } from "../views/record.tsx";
import { RecordsScreen } from "../views/records.tsx";
import { ReplayScreen } from "../views/replay.tsx";
import { ReplaysScreen } from "../views/replays.tsx";
import { RunsScreen } from "../views/runs.tsx";
import { SetupCheckScreen } from "../views/setup-check.tsx";
import { TimeScreen } from "../views/time.tsx";
import { TopicsScreen } from "../views/topics.tsx";

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

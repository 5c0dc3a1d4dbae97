// Pause control: whether the pipeline may receive, and the button that changes it.

import { useState } from "preact/hooks";
import type { ApiSchema } from "../../api/api-schema.ts";
import { callApi } from "../data/api-client.ts";
import { useRefusal, useScopedPath } from "../data/session.ts";
import { Dialog } from "../parts/dialog.tsx";
import { ActionButton, TextField } from "../parts/fields.tsx";
import { Badge } from "../parts/layout.tsx";

interface PauseControlProps {
  readonly flow: ApiSchema["Flow"];
  /** Reads the flow again. */
  readonly onChange: () => void;
}

export function PauseControl({ flow, onChange }: PauseControlProps) {
  const [isAsking, setAsking] = useState(false);
  const [reason, setReason] = useState("");
  const refusal = useRefusal();
  const pausePath = useScopedPath("/pipeline/pause");
  const resumePath = useScopedPath("/pipeline/resume");
  const { paused, pipeline } = flow;
  if (pipeline === null) return null;
  const send = async () => {
    const body = paused === null && reason.trim() !== "" ? { reason: reason.trim() } : {};
    await callApi(paused === null ? pausePath : resumePath, { method: "POST", body });
    setReason("");
    onChange();
  };
  return (
    <>
      {paused !== null && <Badge tone="warn">paused</Badge>}
      <ActionButton refusal={refusal} onAct={() => setAsking(true)}>
        {paused === null ? "Pause…" : "Resume…"}
      </ActionButton>
      {isAsking && (
        <Dialog
          title={`${paused === null ? "Pause" : "Resume"} ${pipeline}`}
          submit={paused === null ? "Pause" : "Resume"}
          onSubmit={send}
          onClose={() => setAsking(false)}
        >
          {paused === null ? (
            <>
              <p>
                All processes of the pipeline stop receiving within seconds. Records in progress
                finish, and messages wait in the queue.
              </p>
              <TextField
                label="Reason, for other operators"
                value={reason}
                onValue={setReason}
                placeholder="migration of the sink"
              />
            </>
          ) : (
            <p>
              All processes of the pipeline receive again within seconds.
              {paused.reason !== "" && ` It was paused for: ${paused.reason}.`}
            </p>
          )}
        </Dialog>
      )}
    </>
  );
}

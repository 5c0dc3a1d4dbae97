// Queue dialogs: send, purge and redrive.

import { useState } from "preact/hooks";
import type { ApiSchema } from "../../../api/api-schema.ts";
import { callApi } from "../../data/api-client.ts";
import { amountText } from "../../data/format.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { TextArea, TextField } from "../../parts/fields.tsx";

interface QueueDialogProps {
  readonly queue: ApiSchema["Queue"];
  readonly onClose: () => void;
}

const pathOf = (queue: ApiSchema["Queue"], action: string) =>
  `/queues/${encodeURIComponent(queue.name)}/${action}`;

export function SendDialog({ queue, onClose }: QueueDialogProps) {
  const [body, setBody] = useState("");
  const [groupId, setGroupId] = useState("");
  const [deduplicationId, setDeduplicationId] = useState("");
  const [delaySeconds, setDelaySeconds] = useState("");
  const send = async () => {
    const request = {
      body,
      ...(groupId === "" ? {} : { groupId }),
      ...(deduplicationId === "" ? {} : { deduplicationId }),
      ...(delaySeconds === "" ? {} : { delaySeconds: Number(delaySeconds) }),
    };
    await callApi(pathOf(queue, "messages"), { method: "POST", body: request });
  };
  return (
    <Dialog
      title={`Send a message to ${queue.name}`}
      submit="Send"
      refusal={body === "" ? "A message needs a body." : null}
      onSubmit={send}
      onClose={onClose}
    >
      <TextArea label="Body" value={body} onValue={setBody} />
      {queue.fifo ? (
        <div class="filters">
          <TextField label="Message group" value={groupId} onValue={setGroupId} required />
          <TextField
            label="Deduplication id (empty: by content)"
            value={deduplicationId}
            onValue={setDeduplicationId}
          />
        </div>
      ) : (
        <TextField
          label="Delay in seconds"
          type="number"
          min={0}
          max={900}
          value={delaySeconds}
          onValue={setDelaySeconds}
        />
      )}
    </Dialog>
  );
}

export function PurgeDialog({ queue, onClose }: QueueDialogProps) {
  const [confirm, setConfirm] = useState("");
  const purge = () => callApi<void>(pathOf(queue, "purge"), { method: "POST", body: { confirm } });
  const count = queue.visible + queue.delayed + queue.inFlight;
  return (
    <Dialog
      title={`Purge ${queue.name}`}
      submit="Purge"
      tone="bad"
      refusal={confirm === queue.name ? null : "Type the name to confirm."}
      onSubmit={purge}
      onClose={onClose}
    >
      <p>
        Deletes {amountText(count, "message")} permanently. Objects in buckets and records in the
        ledger stay.
      </p>
      <TextField
        label={`Type ${queue.name} to confirm`}
        value={confirm}
        onValue={(value) => setConfirm(value.trim())}
      />
    </Dialog>
  );
}

export function QueueRedriveDialog({ queue, onClose }: QueueDialogProps) {
  const [perSecond, setPerSecond] = useState("");
  const redrive = () => {
    const body = perSecond === "" ? {} : { perSecond: Number(perSecond) };
    return callApi<void>(pathOf(queue, "redrive"), { method: "POST", body });
  };
  return (
    <Dialog
      title={`Redrive ${queue.name}`}
      submit="Start redrive"
      onSubmit={redrive}
      onClose={onClose}
    >
      <p>
        Moves all messages back to {queue.sources.join(", ")}. This is SQS's own redrive: it does
        not reopen records in the ledger. For dead letters of a pipeline, use “Dead letters”.
      </p>
      <TextField
        label="Per second (empty: as fast as possible)"
        type="number"
        min={1}
        max={500}
        value={perSecond}
        onValue={setPerSecond}
      />
    </Dialog>
  );
}

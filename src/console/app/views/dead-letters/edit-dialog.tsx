// Edit dialog: sends an edited copy of a dead letter as a new record.
//   E1. The copy has its own key, and the ledger stores which dead letter it is a copy of. The dead
//       letter itself stays until it is dropped.
//   E2. The page only has the masked payload. Masked values must be typed again, and the dialog
//       says so while one is in the text.

import { useState } from "preact/hooks";
import type { ApiSchema } from "../../../api/api-schema.ts";
import { callApi } from "../../data/api-client.ts";
import { jsonText } from "../../data/format.ts";
import { goTo, linkTo } from "../../data/route.ts";
import { useScopedPath } from "../../data/session.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { TextArea } from "../../parts/fields.tsx";

const MASKED_VALUE = "***";

interface EditDialogProps {
  readonly deadLetter: ApiSchema["DeadLetter"];
  readonly onClose: () => void;
}

export function EditDialog({ deadLetter, onClose }: EditDialogProps) {
  const [body, setBody] = useState(bodyOf(deadLetter));
  const path = useScopedPath("/dead-letters/edit");
  const send = async () => {
    const request = { key: deadLetter.key, body };
    const { copyId } = await callApi<ApiSchema["EditResult"]>(path, {
      method: "POST",
      body: request,
    });
    goTo(linkTo(["records"], { search: copyId }));
  };
  const isMasked = body.includes(MASKED_VALUE);
  return (
    <Dialog
      title="Edit and redrive a copy"
      submit="Send copy"
      refusal={isMasked ? "Replace the masked values (***)." : null}
      onSubmit={send}
      onClose={onClose}
    >
      <p>
        Sends a copy of <strong>{deadLetter.name}</strong> as a new record to{" "}
        <code>{deadLetter.queue}</code>. The ledger stores that it is a copy. The dead letter stays
        until you drop it.
      </p>
      <p>Change its key, too. For an object, that is its key, version or sequencer.</p>
      <TextArea label="Message body" value={body} onValue={setBody} />
    </Dialog>
  );
}

/** The payload of an object is one event of its notification; the message is the notification. */
function bodyOf({ payload }: ApiSchema["DeadLetter"]): string {
  const isEvent = typeof payload === "object" && payload !== null && "s3" in payload;
  return jsonText(isEvent ? { Records: [payload] } : payload);
}

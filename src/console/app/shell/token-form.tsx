// Token form: a console that listens on more than loopback asks for its token.

import { useState } from "preact/hooks";
import { logIn } from "../data/api-client.ts";
import { TextField } from "../parts/fields.tsx";
import { Heading, Panel } from "../parts/layout.tsx";
import { Notice } from "../parts/notices.tsx";

export function TokenForm({ onToken }: { readonly onToken: () => void }) {
  const [token, setToken] = useState("");
  const [error, setError] = useState<string | null>(null);
  const submit = async (event: Event) => {
    event.preventDefault();
    try {
      await logIn(token.trim());
      onToken();
    } catch (cause) {
      setError((cause as Error).message);
    }
  };
  return (
    <>
      <Heading title="Token needed" />
      <Panel title="This console needs a token">
        <form class="filters" onSubmit={submit}>
          <TextField
            label="Token, as the server printed it at its start"
            value={token}
            onValue={setToken}
            wide
            required
          />
          <button type="submit" data-tone="accent">
            Open
          </button>
        </form>
        {error !== null && <Notice tone="bad" title={error} live />}
      </Panel>
    </>
  );
}

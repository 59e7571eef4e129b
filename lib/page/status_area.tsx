/** Where the model is: loading, in this browser, or why not. @module */
import { useEffect, useState } from "preact/hooks";
import { formatBytes } from "../text/quantities.ts";
import type { ModelStatus, OpenedApi } from "./model_status.ts";

/** Shows the state of a model in this browser; nothing where it runs on the server. */
export function StatusArea({ opened }: { opened: OpenedApi }) {
  const [status, setStatus] = useState<ModelStatus>({ state: "remote" });
  useEffect(() => opened.watchStatus(setStatus), [opened]);
  if (status.state === "remote") return null;
  return <div class={`status ${status.state}`} role="status">{contentOf(status)}</div>;
}

function contentOf(status: Exclude<ModelStatus, { state: "remote" }>) {
  if (status.state === "failed") return <p>{status.message}</p>;
  if (status.state === "starting") return <p>The model is here; the GPU is made ready…</p>;
  if (status.state === "ready") {
    const { cachedBytes, deleteCached } = status;
    if (cachedBytes === 0) return <p>The model runs in this browser.</p>;
    return (
      <p>
        The model runs in this browser, which keeps {formatBytes(cachedBytes)} of it.{" "}
        <button type="button" class="quiet" onClick={() => deleteCached()}>Delete the kept model</button>
      </p>
    );
  }
  const { loadedBytes, totalBytes } = status;
  return (
    <p>
      <label>
        Loading the model: {formatBytes(loadedBytes)} of {formatBytes(totalBytes)}{" "}
        <progress value={loadedBytes} max={totalBytes} />
      </label>
    </p>
  );
}

/** A button that copies a link to what the page shows. @module */
import { useEffect, useState } from "preact/hooks";
import { formatHash, type PageState } from "./url_state.ts";

/** Copies; where the browser does not allow that, shows the link. */
export function CopyLink({ state }: { state: PageState }) {
  const [result, setResult] = useState<{ text: string; link?: string }>({ text: "" });
  useEffect(() => setResult({ text: "" }), [state.part]);
  const copy = async () => {
    const { hash, isWhole } = await formatHash(state);
    const link = new URL(hash, location.href).href;
    const text = isWhole ? "" : " The pasted pings are too long for a link and are left out.";
    try {
      await navigator.clipboard.writeText(link);
      setResult({ text: `Link copied.${text}` });
    } catch {
      setResult({ text: `Copy this link.${text}`, link });
    }
  };
  return (
    <div class="copy">
      <span role="status">{result.text}</span>
      {result.link === undefined ? null : <input aria-label="Link" readOnly value={result.link} />}
      <button type="button" class="quiet" onClick={copy}>Copy link</button>
    </div>
  );
}

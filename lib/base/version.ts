/** The software version, as written into manifests, checkpoints and `--version`. @module */
import config from "../../deno.json" with { type: "json" };

/** The version in deno.json. */
export const VERSION: string = config.version;

/** The configuration that tests of runs start from, small and without anything that is off by default. @module */
import { fromFileUrl } from "@std/path";

export const SMALL_RUN = fromFileUrl(new URL("./small_run.json", import.meta.url));

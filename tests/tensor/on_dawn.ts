/**
 * Preloaded by `deno task test:dawn`: devices use Dawn unless an engine is named.
 *
 * @module
 */
import { useByDefault } from "../../lib/tensor/engine.ts";

useByDefault("dawn");

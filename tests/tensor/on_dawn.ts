/**
 * Loaded before test files by `deno task test:dawn`: devices are opened with Dawn where no engine is named.
 *
 * @module
 */
import { useByDefault } from "../../lib/tensor/engine.ts";

useByDefault("dawn");
